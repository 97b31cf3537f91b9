// Says why a schedule keeps or recomputes something, and what the other decision would cost.
//
//     Idle idle = idle_of(*schedule, ops);                        // unused for 1.2 s; 6 MiB at the peak
//     Result<WhatIf> other = what_if(*schedule, {"blocks.0.attn", PinKind::keep});
//     other->more_peak;                                           // 4 MiB more at the peak
#pragma once

#include <span>
#include <vector>

#include "app/explorer/loaded/loaded_schedule.h"
#include "core/schedule/pin.h"

namespace rematlas::explorer {

/// How long, and in how many bytes, the outputs of some ops are held while nothing reads or makes them.
struct Idle {
    /// Longest time between two uses of a tensor that is held from one to the other; its making counts as a
    /// use
    Nanoseconds longest;
    Bytes at_peak;  ///< bytes held in the step of the peak, which neither reads nor makes them
    bool operator==(const Idle&) const = default;
};
Idle idle_of(const LoadedSchedule& schedule, std::span<const OpId> ops);

/// How long some ops wait for copies before they run.
struct Waiting {
    Nanoseconds time;
    /// The tensor of the longest wait; invalid if there is none, if that wait is for a host run, or if all
    /// waits are for copies of the step before
    TensorId tensor;
};
Waiting waiting_of(const LoadedSchedule& schedule, std::span<const OpId> ops);

/// The schedule with one decision changed and all others as they were.
struct WhatIf {
    std::vector<Step> steps = {};
    Nanoseconds time = {};       ///< time of the steps, by the simulator
    Bytes peak = {};             ///< peak of the steps, by the simulator
    Nanoseconds more_time = {};  ///< difference to the schedule's time; below 0: less
    Bytes more_peak = {};
    Bytes over_budget = {};  ///< bytes above the schedule's budget; 0: within the budget, or there is none
    bool changes = false;    ///< false: the schedule already has this decision
};

/// Changes the decision of a pin. For keep it leaves out the later runs of the ops, and the runs that served
/// only them. For recompute it makes the pinned tensors again, right before they are read after the loss.
/// Inputs of these reruns that are not held there are either held longer or recomputed too: the alternative
/// that exceeds the budget less is taken (without a budget: the one with the smaller peak), and of equal ones
/// the faster. Errors: those of `pinned_ops`; a schedule with copies to the host. Cost: linear in the steps,
/// some 10 ms at 10,000 ops.
Result<WhatIf> what_if(const LoadedSchedule& schedule, const Pin& pin);

}  // namespace rematlas::explorer
