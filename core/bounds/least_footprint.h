// Lower bounds on the peak of schedules that may copy tensors to the host.
#pragma once

#include "core/bounds/least_memory.h"
#include "core/graph/flat_graph.h"
#include "core/graph/graph.h"

namespace rematlas {

/// Returns the largest footprint of an op that must run on the device: the bytes that the op reads, mutates
/// and makes, and its workspace, minus the bytes that running in place saves. Nothing else has to be on the
/// device at that time, not even other residents. Returns 0 if every required op can run on the host. Cost:
/// linear.
PeakBound least_footprint(const Graph& graph, const FlatGraph& flat);

/// Returns a lower bound on the device's peak if at most `on_host` bytes may be on the host. A tensor that is
/// neither on the device nor on the host is lost. So device and host together always hold at least the bytes
/// that a schedule without copies holds, except the workspaces of ops that run on the host. The bound is
/// therefore `least_peak` without these workspaces, minus `on_host`, and at least 0. Cost: linear.
PeakBound least_peak_beside_host(const Graph& graph, const FlatGraph& flat, Bytes on_host);

/// Like `least_peak_beside_host`, but with `least_memory` in place of `least_peak`; `limits.budget` counts
/// bytes on the device. If some op can overwrite several of its inputs, the function returns
/// `least_peak_beside_host`: with copies, such an op may overwrite its inputs while the host still holds some
/// of them.
PeakBound least_memory_beside_host(const Graph& graph, const FlatGraph& flat, Bytes on_host,
                                   LeastMemoryLimits limits);

}  // namespace rematlas
