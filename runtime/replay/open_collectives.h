// The collectives that a run of a training step has begun and has not waited for yet. They run beside
// compute, as docs/concepts/schedules.md says. The simulator waits at the same steps of the schedule
// (core/schedule/collectives_under_way.h).
#pragma once

#include <ATen/core/stack.h>

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/device/collective_call.h"

namespace rematlas {

class OpenCollectives {
  public:
    explicit OpenCollectives(const Graph& graph) : graph_(graph) {}

    /// Adds a collective that has begun. `results`: the values that the collective's kernel has returned.
    void add(OpId op, CollectiveCall call, torch::jit::Stack results);
    /// Waits for the collectives that must be done before the step: those that make a tensor which the step
    /// reads, and those that make or read a tensor which the step writes or frees.
    void wait_before(const Step& step) {
        if (!open_.empty()) wait_for_uses_of(step);
    }
    /// Waits for one collective after the other. If a collective fails, throws its error without waiting for
    /// the collectives after it.
    void wait_for_all();
    /// Waits for all collectives, even if some of them fail. Throws nothing.
    void settle() noexcept;

  private:
    struct Open {
        OpId op;
        CollectiveCall call;
        torch::jit::Stack results;
    };
    bool makes(const Open& open, TensorId tensor) const;
    bool reads(const Open& open, TensorId tensor) const;
    bool must_end_before(const Open& open, const Step& step) const;
    void wait_for_uses_of(const Step& step);

    const Graph& graph_;
    std::vector<Open> open_;  ///< in the order in which they began
};

}  // namespace rematlas
