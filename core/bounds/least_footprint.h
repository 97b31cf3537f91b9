// The least memory of any schedule that may copy tensors to the host, from below.
#pragma once

#include "core/bounds/least_memory.h"
#include "core/graph/flat_graph.h"
#include "core/graph/graph.h"

namespace rematlas {

/// The largest of: what an op that has to run on the device reads, mutates and makes there, and its workspace, less
/// what running in place saves. Nothing else has to be there meanwhile, residents included. Where every op can
/// run on the host, 0. Cost: linear.
PeakBound least_footprint(const Graph& graph, const FlatGraph& flat);

/// What a host of few bytes leaves to the device. Whatever is in neither place is lost, so that device and host together
/// hold at any moment what a schedule without copies holds, but for the workspaces of ops that run on the host.
/// So the peak on the device is at least `least_peak` without these, less the bytes that may lie on the host; 0 where
/// that is nothing. Cost: linear.
PeakBound least_peak_beside_host(const Graph& graph, const FlatGraph& flat, Bytes on_host);

/// The same with `least_memory` up to `budget`, where the step allows to conclude so: an op that writes over several
/// of its inputs may do it while the host has some of them, as no schedule without copies can.
PeakBound least_memory_beside_host(const Graph& graph, const FlatGraph& flat, Bytes on_host,
                                   LeastMemoryLimits limits);

}  // namespace rematlas
