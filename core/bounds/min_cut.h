// Computes minimum cuts by the push-relabel method.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace rematlas {

/// A network with integer capacities. It is built once; then capacities are set and the minimum cut is
/// computed, as often as needed.
///
/// The method is push-relabel with the highest label first, global relabelling and the gap heuristic
/// (Goldberg and Tarjan 1988, Cherkassky and Goldberg 1997). Only its first phase runs, which finds the
/// minimum cut. At any time the flow that has reached the sink is a lower bound on every cut, so the search
/// may be stopped.
class MinCut {
  public:
    /// Nodes are 0 .. nodes-1. The sum of the capacities out of the source must be below 2^62.
    MinCut(int nodes, int source, int sink) : nodes_(nodes), source_(source), sink_(sink) {}

    /// Returns the index of the edge. Its capacity is 0 at first.
    int add_edge(int from, int to);
    void set_capacity(int edge, std::int64_t capacity) { capacity_[edge] = capacity; }

    struct Cut {
        std::int64_t value = 0;  ///< value of the minimum cut; if stopped, a lower bound on it
        bool finished = true;
        std::vector<std::uint8_t> source_side;  ///< per node, 0 or 1; empty if stopped
    };

    /// `stop` is called after every few thousand calls of `discharge`; it returns true to stop.
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
    std::vector<int> from_, to_;  ///< ends of each edge
    std::vector<std::int64_t> capacity_;

    // Arcs 2e and 2e+1 are edge e and its reverse. The arcs of a node are arc_list_[arc_begin_[node] ..
    // arc_begin_[node + 1]).
    std::vector<int> arc_begin_, arc_list_, current_;
    std::vector<std::int64_t> residual_, excess_;
    std::vector<int> height_;
    std::vector<std::vector<int>> active_;  ///< per height: the active nodes; entries may be out of date
    std::vector<int> count_;                ///< per height: the number of nodes
    std::vector<int> queue_;
    int highest_ = 0;
    std::int64_t work_ = 0;
};

}  // namespace rematlas
