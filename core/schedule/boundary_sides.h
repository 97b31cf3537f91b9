// Finds the runs that the boundary of a compiled step forbids (see Graph::boundary).
//
//     const IdVector<TensorId, OpId> producer = producers(graph);
//     BoundarySides sides(graph, producer);
//     sides.begin_step();
//     sides.run(OpId(0));  // false: the boundary forbids this run
#pragma once

#include <utility>

#include "core/graph/graph.h"

namespace rematlas {

class BoundarySides {
  public:
    /// Both arguments must outlive the object.
    BoundarySides(const Graph& graph, const IdVector<TensorId, OpId>& producer)
        : graph_(graph), producer_(producer), made_on_side_(graph.ops.size(), 0) {}

    void begin_step() {
        ++side_;
        is_behind_ = false;
    }

    /// Records a run, and returns whether the boundary allows it. Each op may run at most once on each side
    /// of the boundary. If an op after the boundary has read a tensor, the maker of the tensor must not run
    /// any more. A graph without a boundary allows all runs.
    bool run(OpId id) {
        if (!graph_.boundary) return true;
        const bool was_behind = is_behind_;
        if (id == *graph_.boundary) begin_backward();
        const bool is_allowed = std::exchange(made_on_side_[id], side_) != side_;
        for (TensorId t : graph_.ops[id].inputs)
            if (was_behind && producer_[t].valid()) made_on_side_[producer_[t]] = side_;
        return is_allowed;
    }

  private:
    void begin_backward() {
        ++side_;
        is_behind_ = true;
    }

    const Graph& graph_;
    const IdVector<TensorId, OpId>& producer_;
    /// Per op: number of the most recent side on which the op ran. A read of one of its outputs after the
    /// boundary counts as a run.
    IdVector<OpId, int> made_on_side_;
    int side_ = 0;  ///< number of the current side; it keeps growing over all repetitions of the step
    bool is_behind_ = false;
};

}  // namespace rematlas
