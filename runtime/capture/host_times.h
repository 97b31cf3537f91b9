// What the ops of the optimizer take: on the device, and where they run on the host beside it.
#pragma once

#include "core/graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// Of a parameter, by an optimizer: what else ends a step has other bits on a host than on another device. One that
/// can be skipped reads on the device whether it is.
bool can_run_on_host(const TapeOp& op);

/// Fills `host_time` of an optimizer's updates, whose `time` is known: on a host it is the same, for
/// another device each distinct op is run on the host, on tensors that lie as its own (the median of a few
/// runs).
void measure_host_times(Graph& graph, const Tape& tape, const DeviceRuntime& device);

/// Fills `time`, `workspace` and `host_time` of these ops, each run alone, which takes the memory of the largest.
void measure_updates(Graph& graph, const Tape& tape, DeviceRuntime& device);

}  // namespace rematlas
