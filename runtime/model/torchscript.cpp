#include "runtime/model/torchscript.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/passes/autocast.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/peephole.h>
#include <torch/csrc/jit/python/update_graph_executor_opt.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include "runtime/model/torchscript_places.h"

namespace rematlas {
namespace {

/// Returns the tensors of a value: the value itself, or the tensors in tuples, lists and dictionaries, in
/// order. Other values are skipped.
std::vector<at::Tensor> flatten_tensors(const c10::IValue& value) {
    std::vector<at::Tensor> tensors;
    const auto add = [&](const c10::IValue& element) {
        for (at::Tensor& tensor : flatten_tensors(element)) tensors.push_back(std::move(tensor));
    };
    if (value.isTensor()) {
        tensors.push_back(value.toTensor());
    } else if (value.isTuple()) {
        for (const c10::IValue& element : value.toTupleRef().elements()) add(element);
    } else if (value.isList()) {
        for (const c10::IValue& element : value.toListRef()) add(element);
    } else if (value.isGenericDict()) {
        for (const auto& entry : value.toGenericDict()) add(entry.value());
    }
    return tensors;
}

class TorchScriptProgram final : public Program {
  public:
    explicit TorchScriptProgram(torch::jit::Module module) : module_(std::move(module)) {}
    std::vector<at::Tensor> forward(std::vector<c10::IValue> arguments) override {
        return flatten_tensors(module_.forward(std::move(arguments)));
    }
    std::unique_ptr<Places> places() const override { return std::make_unique<TorchScriptPlaces>(module_); }

  private:
    torch::jit::Module module_;
};

/// Makes the interpreter run the graph as it is: without fusion, and without specialization after a few runs.
void switch_off_optimization() {
    torch::jit::getExecutorMode() = false;
    torch::jit::getProfilingMode() = false;
    torch::jit::setGraphExecutorOptimize(false);
}

bool enters_autocast(const torch::jit::Block& block) {
    for (const torch::jit::Node* node : block.nodes()) {
        if (node->kind() == c10::prim::Enter) {
            const auto type = node->input()->type()->cast<c10::ClassType>();
            if (type && type->name() && type->name()->name() == "autocast") return true;
        }
        for (const torch::jit::Block* inner : node->blocks())
            if (enters_autocast(*inner)) return true;
    }
    return false;
}

/// Inserts the casts of `torch.autocast` in scripted code, after the same passes as the interpreter's own
/// optimization, which is switched off. Traced code contains the casts already.
void carry_out_autocast(torch::jit::Module& module) {
    const std::shared_ptr<torch::jit::Graph> original = module.get_method("forward").graph();
    std::shared_ptr<torch::jit::Graph> graph = original->copy();
    torch::jit::Inline(*graph);
    if (!enters_autocast(*graph->block())) return;
    torch::jit::Inline(*original);
    graph = original;
    torch::jit::PeepholeOptimize(graph, /*disable_shape_peepholes=*/true);
    torch::jit::ConstantPropagationImmutableTypes(graph);
    torch::jit::Autocast(graph);
}

/// Checks that the module has exactly one forward method, and that this method takes no lists, tuples or
/// dictionaries (except with default values).
Result<void> check_forward(const torch::jit::Module& module) {
    if (module.find_method("forward__0"))
        return Error{
            "the module has several forward methods (a scripted recurrent layer alone); make it a member of "
            "a module"};
    const auto forward = module.find_method("forward");
    if (!forward) return Error{"the module has no forward method"};
    for (const c10::Argument& argument : forward->function().getSchema().arguments()) {
        const c10::TypeKind kind = argument.type()->kind();
        if (argument.default_value() || (kind != c10::TypeKind::ListType &&
                                         kind != c10::TypeKind::TupleType && kind != c10::TypeKind::DictType))
            continue;
        return Error{"forward takes '" + argument.name() + "' of type " + argument.type()->annotation_str() +
                     "; inputs are single tensors, numbers and strings"};
    }
    return {};
}

}  // namespace

std::vector<NamedTensor> named_tensors(const torch::jit::Module& module) {
    std::vector<NamedTensor> tensors;
    for (const auto& parameter : module.named_parameters())
        if (parameter.value.defined()) tensors.push_back({parameter.name, parameter.value, true});
    for (const auto& buffer : module.named_buffers())
        if (buffer.value.defined()) tensors.push_back({buffer.name, buffer.value, false});
    return tensors;
}

Result<Model> model_from(torch::jit::Module module, const std::filesystem::path& path) {
    switch_off_optimization();
    module.train();
    if (Result<void> callable = check_forward(module); !callable)
        return Error{path.string() + ": " + callable.error().message};
    carry_out_autocast(module);
    return Model{.program = std::make_shared<TorchScriptProgram>(module),
                 .tensors = named_tensors(module),
                 .file_name = path.filename().string()};
}

}  // namespace rematlas
