// Lower bounds on the peak of schedules that may copy tensors to the host.
#pragma once

#include "core/bounds/least_memory.h"
#include "core/graph/flat_graph.h"
#include "core/graph/graph.h"

namespace rematlas {

/// The largest footprint of an op that has to run on the device: the bytes that the op reads, mutates and
/// makes, and its workspace, less the bytes that running in place saves. Nothing else has to be on the
/// device meanwhile, not even other residents. The bound is 0 where every required op can run on the host.
/// Cost: linear.
PeakBound least_footprint(const Graph& graph, const FlatGraph& flat);

/// A lower bound on the peak on the device where at most `on_host` bytes may lie on the host. A tensor that
/// is in neither place is lost. So device and host together hold at each moment at least the bytes that a
/// schedule without copies holds, except the workspaces of ops that run on the host. The bound is therefore
/// `least_peak` without these workspaces, less `on_host`, and at least 0. Cost: linear.
PeakBound least_peak_beside_host(const Graph& graph, const FlatGraph& flat, Bytes on_host);

/// The same with `least_memory` in place of `least_peak`; `limits.budget` counts bytes on the device. Where
/// some op can overwrite several of its inputs, the function returns `least_peak_beside_host`: such an op
/// may overwrite its inputs while the host holds some of them, which no schedule without copies can do.
PeakBound least_memory_beside_host(const Graph& graph, const FlatGraph& flat, Bytes on_host,
                                   LeastMemoryLimits limits);

}  // namespace rematlas
