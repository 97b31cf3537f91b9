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

/// Whether an op drops units or takes statistics is decided when a program is exported, and stays as it was.
class ExportedProgram final : public Program {
  public:
    /// What an input of the graph is: a tensor of the archive, an argument of the caller, a constant
    /// argument.
    struct Constant {
        c10::IValue value;
    };
    struct FromCaller {
        std::optional<ExpectedInput> expected;  ///< of a tensor
    };
    using Input = std::variant<at::Tensor, FromCaller, Constant>;

    /// A tensor of the archive, or an argument of the caller by its place among all, that takes the value of
    /// an output when the program has run.
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

    /// Constant arguments may be left out, all of them. Throws where inputs are not what the program was
    /// exported for.
    std::vector<at::Tensor> forward(std::vector<c10::IValue> arguments) override;
    std::unique_ptr<Places> places() const override;

  private:
    std::vector<c10::IValue> bind(const std::vector<c10::IValue>& arguments) const;
    std::vector<c10::IValue> with_constants(std::vector<c10::IValue> arguments) const;

    const Node* current_ = nullptr;
};

/// The archive's program on a device, with its weights and constants, which move there. Throws c10::Error,
/// whose text is one line, and what nlohmann::json throws.
Model model_of(const Archive& archive, StoredTensors weights, StoredTensors constants, c10::Device device);

}  // namespace rematlas::exported
