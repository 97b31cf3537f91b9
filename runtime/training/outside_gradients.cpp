#include "runtime/training/outside_gradients.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <unordered_set>

namespace rematlas {

using torch::autograd::Node;

namespace {

template <class Asked>
bool some_leads_to(const std::vector<at::Tensor>& parameters, Asked&& asked) {
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
        return std::any_of(node->next_edges().begin(), node->next_edges().end(), leads_there) && asked(*node);
    });
}

}  // namespace

bool get_gradients_from_outside(const std::vector<at::Tensor>& parameters) {
    return some_leads_to(parameters, [](const Node& node) { return !node.name().starts_with("Rematlas"); });
}

bool get_gradients_by_casts_from_outside(const std::vector<at::Tensor>& parameters) {
    return some_leads_to(parameters, [](const Node& node) { return node.name() == "ToCopyBackward0"; });
}

bool get_gradients_before_this_sum(const std::vector<at::Tensor>& parameters) {
    const auto here = torch::autograd::get_current_node();
    return some_leads_to(parameters,
                         [&](const Node& node) { return !here || node.sequence_nr() > here->sequence_nr(); });
}

}  // namespace rematlas
