#include "runtime/training/outside_gradients.h"

#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
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
    const auto leads_there = [&](const torch::autograd::Edge& edge) {
        return accumulators.contains(edge.function.get());
    };
    return std::any_of(reached->begin(), reached->end(), [&](const Node* node) {
        return std::any_of(node->next_edges().begin(), node->next_edges().end(), leads_there) &&
               !node->name().starts_with("Rematlas");
    });
}

}  // namespace rematlas
