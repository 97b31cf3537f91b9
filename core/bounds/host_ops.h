// Ops that may run on the host, in the form that the bounds use.
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
    /// Nanoseconds of a run on the device and of a run on the host.
    std::int64_t time = 0, host_time = 0;
    /// The inputs made by ops that must run on the device. If this op runs on the host, these inputs must be
    /// copied there.
    std::vector<std::int32_t> inputs;
    /// The residents that this op updates and that the device also needs: an op that must run on the device
    /// reads or updates them. If this op runs on the host, each of these residents is copied to the device at
    /// least once in each step: after the update only the host has the current values, and the device's op
    /// needs them in the next step. If several `HostOp`s update a resident, only the first of them lists it.
    std::vector<std::int32_t> back;
};

struct StepWithoutHostOps {
    /// The step in which the ops that can run on the host do nothing: they are not required, read nothing,
    /// take no time, and make outputs of 0 bytes. Ops and tensors keep their ids, and `base_time` remains
    /// the time of the whole step.
    FlatGraph device;
    std::vector<HostOp> ops;
};

/// Splits the step: returns the ops that may run on the host, and the step without them. Cost: linear in the
/// graph.
StepWithoutHostOps step_without_host_ops(const Graph& graph, const FlatGraph& flat);

}  // namespace rematlas
