// A torch.export archive as a model.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "runtime/model/exported/archive.h"
#include "runtime/model/exported/expected_input.h"
#include "runtime/model/exported/graph.h"
#include "runtime/model/model.h"

namespace rematlas::exported {

/// A torch.export archive as a program. The export decides whether an op drops units or takes statistics;
/// this does not change afterwards.
class ExportedProgram final : public Program {
  public:
    /// An input of the graph is a tensor of the archive, an argument of the caller, or a constant argument.
    struct Constant {
        c10::IValue value;
    };
    struct FromCaller {
        std::optional<ExpectedInput> expected;  ///< set for a tensor
    };
    using Input = std::variant<at::Tensor, FromCaller, Constant>;

    /// A tensor of the archive, or an argument of the caller by its place among all arguments. It takes the
    /// value of an output when the program has run.
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

    /// Either all constant arguments are given, or none. Throws if inputs do not fit those that the program
    /// was exported for.
    std::vector<at::Tensor> forward(std::vector<c10::IValue> arguments) override;
    std::unique_ptr<Places> places() const override;

  private:
    std::vector<c10::IValue> bind(const std::vector<c10::IValue>& arguments) const;
    std::vector<c10::IValue> with_constants(std::vector<c10::IValue> arguments) const;

    const Node* current_ = nullptr;
};

/// Makes the archive's program on a device, with its weights and constants, which move there. Throws
/// c10::Error, whose text is one line, and exceptions of nlohmann::json.
Model model_of(const Archive& archive, StoredTensors weights, StoredTensors constants, c10::Device device);

}  // namespace rematlas::exported
