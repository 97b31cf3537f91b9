// Minimum cuts by push-relabel.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace rematlas {

/// A network with whole capacities. Build once, set capacities and cut as often as needed.
///
/// Push-relabel with the highest label first, global relabelling and gaps (Goldberg and Tarjan 1988,
/// Cherkassky and Goldberg 1997). Only the first phase runs. The flow that has reached the sink at any time
/// is a lower bound on every cut, so that the search may be stopped.
class MinCut {
  public:
    /// Nodes are 0 .. nodes-1. The sum of the capacities out of the source must stay below 2^62.
    MinCut(int nodes, int source, int sink) : nodes_(nodes), source_(source), sink_(sink) {}

    /// Returns the edge's index.
    int add_edge(int from, int to);
    void set_capacity(int edge, std::int64_t capacity) { capacity_[edge] = capacity; }

    struct Cut {
        std::int64_t value = 0;  ///< of the minimum cut; when stopped, a lower bound on it
        bool finished = true;
        std::vector<std::uint8_t> source_side;  ///< per node; empty when stopped
    };

    /// `stop` is asked every few thousand discharges of a node.
    Cut solve(const std::function<bool()>& stop);

  private:
    void link_edges();
    void relabel_globally();
    void discharge(int node);
    void raise(int node);
    void activate(int node);
    bool is_active(int node) const {
        return node != source_ && node != sink_ && excess_[node] > 0 && height_[node] < nodes_;
    }

    int nodes_, source_, sink_;
    std::vector<int> from_, to_;  ///< per edge
    std::vector<std::int64_t> capacity_;

    // Arcs 2e and 2e+1 are edge e and its reverse; those of a node are arc_list_[arc_begin_[node] ..
    // arc_begin_[node + 1]).
    std::vector<int> arc_begin_, arc_list_, current_;
    std::vector<std::int64_t> residual_, excess_;
    std::vector<int> height_;
    std::vector<std::vector<int>> active_;  ///< by height; entries may be out of date
    std::vector<int> count_;                ///< nodes by height
    std::vector<int> queue_;
    int highest_ = 0;
    std::int64_t work_ = 0;
};

}  // namespace rematlas
