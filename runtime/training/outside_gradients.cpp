#include "runtime/training/outside_gradients.h"

#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <string>
#include <unordered_set>

namespace rematlas {

bool get_gradients_from_outside(const std::vector<at::Tensor>& parameters) {
    using torch::autograd::Node;
    const auto* reached = torch::autograd::get_current_graph_task_nodes_in_graph();
    if (!reached) return false;
    std::unordered_set<const Node*> accumulators;
    for (const at::Tensor& parameter : parameters)
        if (parameter.requires_grad())
            accumulators.insert(torch::autograd::impl::gradient_edge(parameter).function.get());
    for (const Node* node : *reached) {
        if (node->name().starts_with("Rematlas")) continue;
        for (const torch::autograd::Edge& edge : node->next_edges())
            if (accumulators.contains(edge.function.get())) return true;
    }
    return false;
}

}  // namespace rematlas
