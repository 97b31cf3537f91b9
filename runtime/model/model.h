// A program in train mode, which is captured and run, with its parameters and buffers by name.
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
    /// Runs the program. Returns the tensors that it returns, in order. Throws the exceptions of the
    /// program.
    virtual std::vector<at::Tensor> forward(std::vector<c10::IValue> arguments) = 0;
    /// Tells where ops of the program come from, while it runs on this thread.
    virtual std::unique_ptr<Places> places() const = 0;
};

/// Copies share the program and the tensors.
struct Model {
    std::shared_ptr<Program> program = {};
    std::vector<NamedTensor> tensors = {};  ///< parameters, then buffers; a tensor with two names occurs
                                            ///< twice
    std::string file_name = {};             ///< without its folder
    std::string sha256 = {};                ///< digest of the file
    std::vector<FixedInput> fixed = {};     ///< arguments that are no tensors
    std::optional<std::vector<InputSpec>> inputs = {};  ///< inputs with which an exported program was
                                                        ///< exported

    /// Runs the program on the tensors, in order, with the fixed arguments between them.
    std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs);

    /// The parameters that require gradients, each once.
    std::vector<NamedTensor> trained() const;
};

/// The error as one line. libtorch's messages span pages, with the cause on the last one.
std::string one_line(const std::exception& error);

}  // namespace rematlas
