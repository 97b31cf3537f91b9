// The terms of a gradient. A tensor that a module uses several times gets one term from each use, and
// autograd adds each term as soon as it is there to what the tensor has got so far. A module's own backward
// that adds its terms first, and hands out their sum, gives other bits if the tensor has got a gradient from
// elsewhere before.
#pragma once

#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/torch_versions/autograd_nodes.h"

namespace rematlas {

/// Returns, for each target, the number of edges that lead to it from the graph behind the roots. The graph
/// ends at the nodes of the targets. Cost: linear in the nodes and edges of the graph.
std::vector<int> count_uses(const torch::autograd::edge_list& roots,
                            const torch::autograd::edge_list& targets);

/// While an object of this class lives, each edge of the graph behind the roots that leads to a target leads
/// to a node of its own instead. So a backward returns the terms one by one. Must not live while a backward
/// that began earlier runs through this graph.
class TermsApart {
  public:
    TermsApart(const torch::autograd::edge_list& roots, const torch::autograd::edge_list& targets);
    TermsApart(const TermsApart&) = delete;
    TermsApart& operator=(const TermsApart&) = delete;
    ~TermsApart();

    /// Returns the nodes of the terms: those of the first target first, and those of one target in the order
    /// in which autograd adds the terms.
    torch::autograd::edge_list ends() const;
    /// Returns the position of the target whose term is at this position of `ends`.
    std::size_t target_of(std::size_t end) const { return terms_[end].target; }

  private:
    struct Term {
        std::size_t target;
        NodePointer node;     ///< makes the term
        std::size_t edge_nr;  ///< position of the edge among those of `node`
        torch::autograd::Edge edge, end;
    };
    std::vector<Term> terms_;
};

}  // namespace rematlas
