// Measures the optimizer's ops: on the device, and on the host if they can run there.
#pragma once

#include "core/graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// Says whether the op is an optimizer's update that can run on the host. Other ops at the end of a step
/// cannot, because their results on the host would differ in some bits. An update that can be skipped cannot
/// run on the host either, because the number that says whether to skip it is on the device.
bool can_run_on_host(const TapeOp& op);

/// Fills `host_time` of the updates that can run on the host; their `time` must be filled already. If the
/// device is a CPU, both times are the same. Otherwise `host_time` is the median of five runs of each
/// distinct op on the host, on tensors with the layout of its operands.
void measure_host_times(Graph& graph, const Tape& tape, const DeviceRuntime& device);

/// Fills `time`, `workspace` and `host_time` of the optimizer's ops. Each distinct op runs alone, so the call
/// needs the memory of the largest op.
void measure_updates(Graph& graph, const Tape& tape, DeviceRuntime& device);

}  // namespace rematlas
