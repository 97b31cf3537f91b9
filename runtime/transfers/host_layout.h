// Where on the host each tensor lies that a schedule puts there.
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/transfers/transfer_plan.h"

namespace rematlas {

/// Fills in of the plan what lies where: `places`, `place`, `host_runs`, `leaving`, `slab_bytes` and `host_peak`, for
/// its steps. Errors: steps that copy or run on the host what is not there. Cost: that of packing the slab.
Result<void> lay_out_host(const Graph& graph, const Homes& homes, TransferPlan& plan);

}  // namespace rematlas
