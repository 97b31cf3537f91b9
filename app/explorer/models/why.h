// Says why a schedule keeps or recomputes a tensor, and what the other decision would cost.
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

/// Says how long the outputs of some ops are held while nothing uses them, and how many of their bytes are
/// held unused at the peak.
struct Idle {
    /// Longest time between two uses of a tensor that is held from the first to the second. The run that
    /// makes the tensor and a fetch of the tensor count as uses
    Nanoseconds longest;
    Bytes at_peak;  ///< bytes that are held at the peak, although the step of the peak neither reads nor
                    ///< makes them
    bool operator==(const Idle&) const = default;
};
Idle idle_of(const LoadedSchedule& schedule, std::span<const OpId> ops);

/// Says how long some ops wait for copies, host runs or collectives before they run.
struct Waiting {
    Nanoseconds time;
    /// The tensor whose copy is awaited in the longest wait. Waits for copies that the previous training step
    /// began do not count. Invalid if there is no such wait, or if it is for a host run or a collective
    TensorId tensor;
};
Waiting waiting_of(const LoadedSchedule& schedule, std::span<const OpId> ops);

/// A schedule in which one decision was changed, and what it needs.
struct WhatIf {
    std::vector<Step> steps = {};
    Nanoseconds time = {};       ///< time of the steps, from the simulator
    Bytes peak = {};             ///< peak of the steps, from the simulator
    Nanoseconds more_time = {};  ///< difference to the time of the schedule; negative if it takes less
    Bytes more_peak = {};
    Bytes over_budget = {};  ///< bytes above the schedule's budget; 0 within the budget, or without a budget
    bool changes = false;    ///< false if the schedule already has this decision
};

/// Returns the schedule with the decision of the pin for the pin's ops. `PinKind::keep` removes the reruns of
/// these ops, and the runs that only these reruns need. `PinKind::recompute` adds reruns that make the pinned
/// tensors right before their first use after the loss. For the inputs of these reruns there are two
/// alternatives: hold them longer, or recompute the inputs that are not held. The result is the alternative
/// with fewer bytes above the budget (without a budget: with the smaller peak). If these are equal, it is the
/// faster alternative.
/// Fails as `pinned_ops` does, or if the schedule has copies to the host or cannot be executed. Cost: linear
/// in the steps, about 10 ms at 10,000 ops.
Result<WhatIf> what_if(const LoadedSchedule& schedule, const Pin& pin);

}  // namespace rematlas::explorer
