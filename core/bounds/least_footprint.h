// The least memory of any schedule that may copy everything to the host, from below.
#pragma once

#include "core/graph/flat_graph.h"
#include "core/graph/graph.h"

namespace rematlas {

/// The largest of: what an op that has to run on the device reads, mutates and makes there, and its workspace, less
/// what running in place saves. Nothing else has to be there meanwhile, residents included. Where every op can
/// run on the host, 0. Cost: linear.
PeakBound least_footprint(const Graph& graph, const FlatGraph& flat);

}  // namespace rematlas
