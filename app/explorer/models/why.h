// Why a schedule keeps or recomputes something, and what it would cost to decide otherwise.
//
//     Idle idle = idle_of(*schedule, ops);                       // held 1.2 s unused, 6 MiB of it at the
// peak
//     Result<WhatIf> other = what_if(*schedule, {"blocks.0.attn", PinKind::keep});
//     other->more_peak;                                           // 4 MiB more at the peak
#pragma once

#include <span>
#include <vector>

#include "app/explorer/loaded/loaded_schedule.h"
#include "core/schedule/pin.h"

namespace rematlas::explorer {

/// How what some ops make lies in memory while nothing reads or makes it.
struct Idle {
    Nanoseconds longest;  ///< between two uses of a tensor that is held from one to the other
    Bytes at_peak;        ///< held in the step of the peak, which neither reads nor makes it
    bool operator==(const Idle&) const = default;
};
Idle idle_of(const LoadedSchedule& schedule, std::span<const OpId> ops);

/// How long some ops wait for copies before they run, and for the longest of these waits.
struct Waiting {
    Nanoseconds time;
    TensorId tensor;  ///< that the longest wait is for; not valid: no wait, or for what the step before began
};
Waiting waiting_of(const LoadedSchedule& schedule, std::span<const OpId> ops);

/// The schedule with one decision changed and all others as they were.
struct WhatIf {
    std::vector<Step> steps = {};
    Nanoseconds time = {};       ///< as the simulator plays the steps
    Bytes peak = {};             ///< as well
    Nanoseconds more_time = {};  ///< than the schedule; below 0: less
    Bytes more_peak = {};
    Bytes over_budget = {};  ///< of the schedule's budget, where it has one; 0: within it
    bool changes = false;    ///< false: the schedule does so already
};

/// keep: the later runs of the ops are left out, and those that served only them. recompute: what is to be
/// made again is, right before it is read after the loss; what that needs and is not held there is held
/// longer or made again too, whichever fits the budget and takes less time. Errors: those of `pinned_ops`; a
/// schedule with copies to the host. Cost: linear in the steps, some 10 ms at 10,000 ops.
Result<WhatIf> what_if(const LoadedSchedule& schedule, const Pin& pin);

}  // namespace rematlas::explorer
