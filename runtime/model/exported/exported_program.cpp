#include "runtime/model/exported/exported_program.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <sstream>

#include "runtime/model/exported/run_graph.h"

namespace rematlas::exported {
namespace {

class NodePlaces final : public Places {
  public:
    explicit NodePlaces(const Node* const& current) : current_(current) {}
    ModuleName module() override { return current_ ? current_->module : ModuleName(); }
    std::string line() override { return current_ ? current_->line : std::string(); }

  private:
    const Node* const& current_;
};

std::string text(const c10::IValue& value) {
    std::ostringstream stream;
    stream << value;
    return stream.str();
}

bool is_argument(const ExportedProgram::Input& input) {
    return !std::holds_alternative<at::Tensor>(input);
}

}  // namespace

std::unique_ptr<Places> ExportedProgram::places() const {
    return std::make_unique<NodePlaces>(current_);
}

std::vector<c10::IValue> ExportedProgram::with_constants(std::vector<c10::IValue> arguments) const {
    const auto expected = static_cast<std::size_t>(std::count_if(inputs.begin(), inputs.end(), is_argument));
    if (arguments.size() == expected) return arguments;
    std::size_t next = 0;
    std::vector<c10::IValue> all;
    for (const Input& input : inputs) {
        if (const auto* constant = std::get_if<Constant>(&input)) {
            all.push_back(constant->value);
        } else if (std::holds_alternative<FromCaller>(input) && next < arguments.size()) {
            all.push_back(arguments[next++]);
        }
    }
    TORCH_CHECK(next == arguments.size() && all.size() == expected, "the program takes ", expected,
                expected == 1 ? " input, and " : " inputs, and ", arguments.size(), " are given");
    return all;
}

std::vector<c10::IValue> ExportedProgram::bind(const std::vector<c10::IValue>& arguments) const {
    std::map<std::string, std::int64_t> sizes;
    std::vector<c10::IValue> values;
    std::size_t next = 0;
    for (const Input& input : inputs) {
        if (const auto* tensor = std::get_if<at::Tensor>(&input)) {
            values.push_back(*tensor);
            continue;
        }
        const std::size_t position = next++;
        const c10::IValue& given = arguments[position];
        if (const auto* constant = std::get_if<Constant>(&input)) {
            TORCH_CHECK(given.tagKind() == constant->value.tagKind() && text(given) == text(constant->value),
                        "input ", position + 1, " is ", text(given), ", and the program was exported for ",
                        text(constant->value), " there; leave constant inputs out, or export again");
        } else if (const auto& expected = std::get<FromCaller>(input).expected) {
            TORCH_CHECK(given.isTensor(), "input ", position + 1, " is ", text(given),
                        " and must be a tensor");
            expected->check(given.toTensor(), position, named_sizes, sizes);
        } else {
            TORCH_CHECK(given.isScalar(), "input ", position + 1, " must be a number");
        }
        values.push_back(given);
    }
    next = 0;
    for (const Input& input : inputs) {
        if (std::holds_alternative<at::Tensor>(input)) continue;
        const std::size_t position = next++;
        const auto* from_caller = std::get_if<FromCaller>(&input);
        if (from_caller && from_caller->expected)
            from_caller->expected->check_derived(arguments[position].toTensor(), position, sizes);
    }
    return values;
}

std::vector<at::Tensor> ExportedProgram::forward(std::vector<c10::IValue> arguments) {
    arguments = with_constants(std::move(arguments));
    const std::vector<c10::IValue> outputs = run_graph(graph, bind(arguments), current_);
    {
        at::NoGradGuard no_grad;
        for (const Mutation& mutation : mutations) {
            at::Tensor target =
                mutation.tensor.defined() ? mutation.tensor : arguments[mutation.argument].toTensor();
            target.copy_(outputs[mutation.output].toTensor());
        }
    }
    std::vector<at::Tensor> tensors;
    for (const std::size_t result : results)
        if (outputs[result].isTensor()) tensors.push_back(outputs[result].toTensor());
    return tensors;
}

}  // namespace rematlas::exported
