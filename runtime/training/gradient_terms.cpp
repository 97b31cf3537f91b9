#include "runtime/training/gradient_terms.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "runtime/training/graph_nodes.h"

namespace rematlas {
namespace {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;
using torch::autograd::variable_list;

/// Takes one term. Like a node that accumulates gradients, it runs as soon as the term is there.
class TermNode final : public Node {
  public:
    explicit TermNode(const Edge& instead_of) : Node(std::numeric_limits<std::uint64_t>::max()) {
        input_metadata_.push_back(instead_of.function->input_metadata(instead_of.input_nr));
    }
    std::string name() const override { return "RematlasTerm"; }
    variable_list apply(variable_list&&) override { return {}; }
};

/// Calls `found` with each edge that leads to a target: its node, its position and the target's position.
template <class Found>
void for_each_use(const edge_list& roots, const edge_list& targets, Found&& found) {
    std::unordered_map<const Node*, std::vector<std::size_t>> of_node;
    for (std::size_t i = 0; i < targets.size(); ++i)
        if (targets[i].function) of_node[targets[i].function.get()].push_back(i);
    for_each_node(roots, [&](Node& node) {
        if (of_node.contains(&node)) return false;
        for (std::size_t i = 0; i < node.next_edges().size(); ++i) {
            const Edge& edge = node.next_edges()[i];
            const auto at = of_node.find(edge.function.get());
            if (at == of_node.end()) continue;
            for (const std::size_t target : at->second)
                if (targets[target].input_nr == edge.input_nr) found(node, i, target);
        }
        return true;
    });
}

}  // namespace

std::vector<int> count_uses(const edge_list& roots, const edge_list& targets) {
    std::vector<int> uses(targets.size());
    for_each_use(roots, targets, [&](const Node&, std::size_t, std::size_t target) { ++uses[target]; });
    return uses;
}

TermsApart::TermsApart(const edge_list& roots, const edge_list& targets) {
    for_each_use(roots, targets, [&](Node& node, std::size_t edge_nr, std::size_t target) {
        const Edge& edge = targets[target];
        terms_.push_back({target, node.getptr(), edge_nr, edge, Edge(make_node<TermNode>(edge), 0)});
    });
    // Autograd runs the node with the highest number first, and looks at the edges of a node in their order.
    std::sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) {
        return std::make_tuple(a.target, b.node->sequence_nr(), a.edge_nr) <
               std::make_tuple(b.target, a.node->sequence_nr(), b.edge_nr);
    });
    for (const Term& term : terms_) term.node->next_edges()[term.edge_nr] = term.end;
}

TermsApart::~TermsApart() {
    for (const Term& term : terms_) term.node->next_edges()[term.edge_nr] = term.edge;
}

edge_list TermsApart::ends() const {
    edge_list ends;
    for (const Term& term : terms_) ends.push_back(term.end);
    return ends;
}

}  // namespace rematlas
