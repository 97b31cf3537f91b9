// Plans places in host memory for the tensors that a schedule keeps, copies or makes there.
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/transfers/transfer_plan.h"

namespace rematlas {

/// Fills these fields of the plan for its steps: `places`, `place`, `host_runs`, `leaving`, `slab_bytes`,
/// `home_bytes` and `host_peak`. Fails if a step needs a tensor on the host that is not there, or offloads a
/// tensor that is there already. Cost: the cost of packing the slab.
Result<void> lay_out_host(const Graph& graph, const Homes& homes, TransferPlan& plan);

}  // namespace rematlas
