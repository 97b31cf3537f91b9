// A lower bound on the time of schedules in which residents may leave the device. If at some moment not all
// residents fit on the device, the residents that do not fit must be copied.
//
//     const MovingResidents moving{may_leave(graph, copies), fastest_of(links)};
//     const std::int64_t time = resident_traffic(graph, flat, moving, budget);      // nanoseconds
//
// Let b be an op that must run on the device. Let s be the time of b and of its ancestors that must run on
// the device. During b's first run the device must hold b's workspace, b's outputs, and the inputs of b that
// ops make; the remaining bytes of the budget are for residents. A copy of t to the host takes the time
// out(t), and a fetch the time in(t). Variables, all in [0, 1]:
//     z[t]     resident t is not on the device during b's first run; 0 if b reads or updates t
//     h[i]     update i, which can run on the host, runs there
//     f[t]     t is fetched after b's first run
//     y[t]     t is fetched at some time
//     o[t]     t is copied to the host at some time
// The objective, to be minimized, is the time T of the step. The rows, and why they hold in every valid
// schedule:
//   sum of bytes(t) z[t] >= the bytes of all residents - the remaining bytes
//   f[t] >= z[t]
//       Some op that reads or updates t must run on the device, and descends from b. That op has not run yet,
//       so a resident that is not on the device during b is fetched after b.
//   f[t] >= z[t] - h[i]
//       As in the row before, but only update i uses t after b, and i may run on the host instead.
//   o[t] >= z[t] - h[i]
//       Update i changes t on the device (h[i] = 0 if i cannot run on the host). If t has its home on the
//       device, t was copied out in this step: a resident that is freed needs a copy on the host, and at the
//       start of a step there is none. If t has its home on the host, its new value is copied there.
//   y[t] >= f[t], y[t] >= h[i]
//       Update i changes t on the host, and ops that must run on the device read t: see HostOp::back.
//   T >= time of the ops that must run - sum of time(i) h[i]
//   T >= r + sum of host_time(i) h[i] over any set of updates
//       with r = the least time after which some update of the set can have its inputs
//   T >= s + sum of in(t) f[t]
//   T >= sum of in(t) y[t]
//   T >= sum of out(t) o[t] + sum of out(g) h[i]
//       over all updates i, and the gradients g that update i reads and no update before i reads
// Steps are repeated, and copies of residents may continue in the next repetition. But a link makes one copy
// at a time, so on average no repetition is shorter than its copies.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include "core/bounds/host_links.h"
#include "core/graph/flat_graph.h"
#include "core/graph/graph.h"

namespace rematlas {

struct ResidentTrafficLimits {
    std::chrono::nanoseconds time = std::chrono::seconds(1);
    std::stop_token stop{};
    /// How many ops are tried; the ops with the largest footprints are tried first.
    int moments = 6;
};

struct MovingResidents {
    IdVector<TensorId, char> may_leave;  ///< per tensor: whether the schedule may copy it
    HostLinks links;
};

/// Returns a lower bound in nanoseconds on the time of schedules within the budget that copy only the
/// residents of `moving`; 0 if nothing can be proven. `flat` must be the flat graph of `graph`, as
/// `with_results_from_host` returns it.
std::int64_t resident_traffic(const Graph& graph, const FlatGraph& flat, MovingResidents moving, Bytes budget,
                              const ResidentTrafficLimits& limits = {});

}  // namespace rematlas
