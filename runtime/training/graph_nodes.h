// Visits the nodes of autograd's graph.
#pragma once

#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

#include <unordered_set>
#include <vector>

namespace rematlas {

/// Calls `visit` once for each node that the roots lead to. If `visit` returns false, the search does not go
/// on behind this node.
template <class Visit>
void for_each_node(const torch::autograd::edge_list& roots, Visit&& visit) {
    using torch::autograd::Edge;
    using torch::autograd::Node;
    std::unordered_set<Node*> seen;
    std::vector<Node*> open;
    const auto add = [&](const Edge& edge) {
        if (edge.function && seen.insert(edge.function.get()).second) open.push_back(edge.function.get());
    };
    for (const Edge& edge : roots) add(edge);
    while (!open.empty()) {
        Node* node = open.back();
        open.pop_back();
        if (!visit(*node)) continue;
        for (const Edge& edge : node->next_edges()) add(edge);
    }
}

}  // namespace rematlas
