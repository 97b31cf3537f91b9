// A torch.export archive as a model.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "runtime/model/exported/archive.h"
#include "runtime/model/exported/expected_input.h"
#include "runtime/model/exported/graph.h"
#include "runtime/model/model.h"

namespace rematlas::exported {

/// A torch.export archive as a program. The export has fixed whether ops such as dropout and batch
/// normalization work as in training; this cannot be changed afterwards.
class ExportedProgram final : public Program {
  public:
    /// An input of the graph is a tensor of the archive, an argument of the caller, or a constant argument.
    struct Constant {
        c10::IValue value;
    };
    struct FromCaller {
        std::optional<ExpectedInput> expected;  ///< set if the argument is a tensor
    };
    using Input = std::variant<at::Tensor, FromCaller, Constant>;

    /// A tensor to which the value of an output is copied after each run of the program. `tensor` is a tensor
    /// of the archive; if it is undefined, `argument` is the position of the caller's tensor among all
    /// arguments.
    struct Mutation {
        std::size_t output;
        at::Tensor tensor;
        std::size_t argument;
    };

    ForwardGraph graph;
    std::vector<Input> inputs;
    NamedSizes named_sizes;
    std::vector<std::size_t> results;  ///< outputs of the graph that are outputs of the model
    std::vector<Mutation> mutations;

    /// The caller must give either all constant arguments or none. Throws if the arguments do not match the
    /// inputs that the program was exported for.
    std::vector<at::Tensor> forward(std::vector<c10::IValue> arguments) override;
    std::unique_ptr<Places> places() const override;

  private:
    std::vector<c10::IValue> bind(const std::vector<c10::IValue>& arguments) const;
    std::vector<c10::IValue> with_constants(std::vector<c10::IValue> arguments) const;

    const Node* current_ = nullptr;
};

/// Makes a model of the archive's program, with its weights and constants moved to `device`. Throws
/// c10::Error with a message of one line, and exceptions of nlohmann::json.
Model model_of(const Archive& archive, StoredTensors weights, StoredTensors constants, c10::Device device);

}  // namespace rematlas::exported
