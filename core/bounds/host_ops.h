// Ops that may run on the host, as bounds take them.
//
//     const StepWithoutHostOps host = step_without_host_ops(graph, flat);
//     best_bound(host.device, budget, {.host = fastest_of(links), .host_ops = host.ops});
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/graph/graph.h"

namespace rematlas {

/// It runs once, on the device or on the host.
struct HostOp {
    std::int64_t time = 0, host_time = 0;  ///< nanoseconds, of a run on the device and of one on the host
    /// What it reads and ops on the device make. Where it runs on the host these were copied there.
    std::vector<std::int32_t> inputs;
    /// The residents that it updates and that an op which must run on the device reads or updates. Where it runs on
    /// the host each of them is copied to the device once at least: after the update it is not there, so that a step
    /// without such a copy ends without it there, has begun without it there, and never had it there. One that several
    /// ops update stands at the first of these alone.
    std::vector<std::int32_t> back;
};

struct StepWithoutHostOps {
    /// The step as if these ops were nothing: they need not run, read nothing, take no time, and what they make
    /// has no bytes. Ops and tensors have their ids, and `base_time` is that of the whole step.
    FlatGraph device;
    std::vector<HostOp> ops;
};

/// Cost: linear.
StepWithoutHostOps step_without_host_ops(const Graph& graph, const FlatGraph& flat);

}  // namespace rematlas
