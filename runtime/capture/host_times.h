// Measures the optimizer's ops: on the device, and on the host for updates that may run there.
#pragma once

#include "core/graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// Says whether the op is an optimizer's update that can run on the host. Other ops at the end of a step
/// cannot, because the host computes other bits than the device. An update that can be skipped cannot either,
/// because it reads on the device whether to skip.
bool can_run_on_host(const TapeOp& op);

/// Fills `host_time` of an optimizer's updates; their `time` must be filled already. If the device is a CPU,
/// both times are the same. Otherwise each distinct op runs on the host, on tensors with the layout of its
/// operands (the median of five runs).
void measure_host_times(Graph& graph, const Tape& tape, const DeviceRuntime& device);

/// Fills `time`, `workspace` and `host_time` of the optimizer's ops. Each distinct op runs alone, so the
/// memory of the largest op is needed.
void measure_updates(Graph& graph, const Tape& tape, DeviceRuntime& device);

}  // namespace rematlas
