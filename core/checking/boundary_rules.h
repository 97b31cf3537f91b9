// The checker's rules for runs in a graph with a boundary between forward and backward.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

/// Follows the runs of one step and finds the runs that the boundary forbids.
class BoundaryRules {
  public:
    explicit BoundaryRules(const Graph& graph) : graph_(graph) {}

    void begin_step() {
        ran_on_side_.clear();
        read_behind_.clear();
        is_behind_ = false;
    }

    /// Records a run of the op. Returns the rules that the run breaks, each as the end of a sentence about
    /// the op.
    std::vector<std::string> broken_by_run(OpId id) {
        std::vector<std::string> broken;
        if (!graph_.boundary) return broken;
        if (id == *graph_.boundary) {
            ran_on_side_.clear();
            is_behind_ = true;
        }
        if (!ran_on_side_.insert(id).second)
            broken.push_back("runs again on the same side of the boundary between forward and backward");
        for (TensorId t : graph_.ops[id].outputs)
            if (read_behind_.contains(t))
                broken.push_back("makes tensor " + std::to_string(t.value) + " (" + graph_.tensors[t].name +
                                 ") again behind the boundary, where its earlier copy was read");
        if (!is_behind_ || id == *graph_.boundary) return broken;
        for (TensorId t : graph_.ops[id].inputs) read_behind_.insert(t);
        return broken;
    }

  private:
    const Graph& graph_;
    std::set<OpId> ran_on_side_;      ///< ops that ran on the current side of the boundary
    std::set<TensorId> read_behind_;  ///< tensors that runs behind the boundary have read
    bool is_behind_ = false;
};

}  // namespace rematlas
