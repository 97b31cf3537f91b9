#include "runtime/training/outside_gradients.h"

#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace rematlas {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;

namespace {

template <class Asked>
bool some_leads_to(const edge_list& ends, Asked&& asked) {
    const auto* reached = torch::autograd::get_current_graph_task_nodes_in_graph();
    if (!reached || ends.empty()) return false;
    std::set<std::pair<const Node*, std::uint32_t>> wanted;
    for (const Edge& end : ends) wanted.emplace(end.function.get(), end.input_nr);
    const auto leads_there = [&](const Edge& edge) {
        return edge.function && wanted.contains({edge.function.get(), edge.input_nr});
    };
    return std::any_of(reached->begin(), reached->end(), [&](const Node* node) {
        return std::any_of(node->next_edges().begin(), node->next_edges().end(), leads_there) && asked(*node);
    });
}

}  // namespace

edge_list edges_to(const std::vector<at::Tensor>& tensors) {
    edge_list edges;
    for (const at::Tensor& tensor : tensors)
        if (tensor.requires_grad()) edges.push_back(torch::autograd::impl::gradient_edge(tensor));
    return edges;
}

bool get_gradients_from_outside(const std::vector<at::Tensor>& parameters) {
    return some_leads_to(edges_to(parameters),
                         [](const Node& node) { return !node.name().starts_with("Rematlas"); });
}

bool get_gradients_by_casts_from_outside(const std::vector<at::Tensor>& parameters) {
    return some_leads_to(edges_to(parameters),
                         [](const Node& node) { return node.name() == "ToCopyBackward0"; });
}

bool get_gradients_before_this_sum(const edge_list& ends) {
    const auto here = torch::autograd::get_current_node();
    return some_leads_to(ends,
                         [&](const Node& node) { return !here || node.sequence_nr() > here->sequence_nr(); });
}

}  // namespace rematlas
