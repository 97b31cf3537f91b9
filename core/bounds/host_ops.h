// Ops that may run on the host, in the form that the bounds take.
//
//     const StepWithoutHostOps host = step_without_host_ops(graph, flat);
//     best_bound(host.device, budget, {.host = fastest_of(links), .host_ops = host.ops});
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/graph/graph.h"

namespace rematlas {

/// An op that runs once, on the device or on the host.
struct HostOp {
    std::int64_t time = 0, host_time = 0;  ///< nanoseconds, of a run on the device and of one on the host
    /// The inputs made by ops that must run on the device. Where this op runs on the host, they have been
    /// copied there.
    std::vector<std::int32_t> inputs;
    /// The residents that this op updates and that an op which must run on the device reads or updates.
    /// Where this op runs on the host, each of these residents is copied to the device at least once. The
    /// reason: after the update the resident is not on the device. A step without such a copy would end, and
    /// so begin, without the resident on the device, and would never have it there. A resident that several
    /// ops update stands in the list of the first of them.
    std::vector<std::int32_t> back;
};

struct StepWithoutHostOps {
    /// The step as if these ops did nothing: they need not run, read nothing and take no time, and their
    /// outputs have no bytes. Ops and tensors keep their ids, and `base_time` stays that of the whole step.
    FlatGraph device;
    std::vector<HostOp> ops;
};

/// Cost: linear.
StepWithoutHostOps step_without_host_ops(const Graph& graph, const FlatGraph& flat);

}  // namespace rematlas
