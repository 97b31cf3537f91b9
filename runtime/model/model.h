// A program with its parameters and buffers by name, to be captured and run.
//
//     Model model = load_model("model.pt").take();                // runtime/model/load_model.h
//     std::vector<at::Tensor> outputs = model.forward(inputs);
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/input_spec.h"
#include "runtime/model/named_tensor.h"
#include "runtime/model/places.h"

namespace rematlas {

class Program {
  public:
    virtual ~Program() = default;
    /// Runs the program and returns its output tensors, in order. Throws the exceptions of the program.
    virtual std::vector<at::Tensor> forward(std::vector<c10::IValue> arguments) = 0;
    /// Returns an object that can be asked for the place of the op that runs at the moment. The program must
    /// run on this thread.
    virtual std::unique_ptr<Places> places() const = 0;
};

/// Copies of a model share its program and its tensors.
struct Model {
    std::shared_ptr<Program> program = {};
    std::vector<NamedTensor> tensors = {};  ///< parameters, then buffers; a tensor with two names occurs
                                            ///< twice
    std::string file_name = {};             ///< name of the file, without its folder
    std::string sha256 = {};                ///< digest of the file
    std::vector<FixedInput> fixed = {};     ///< arguments that are not tensors
    std::optional<std::vector<InputSpec>> inputs = {};  ///< the inputs that an exported program was exported
                                                        ///< with

    /// Runs the program on `inputs`, in order, with the fixed arguments at their positions.
    std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs);

    /// Returns the parameters that require gradients, each once.
    std::vector<NamedTensor> trained() const;
};

/// Returns the message of the error as one line. If the message has many lines, as libtorch's have, returns
/// the line with the cause.
std::string one_line(const std::exception& error);

}  // namespace rematlas
