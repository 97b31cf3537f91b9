// Times of the optimizer's ops: on the device, and on the host beside it.
#pragma once

#include "core/graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// True for the update of a parameter by an optimizer. The other ops that end a step give other bits on a
/// host than on another device. An update that can be skipped is excluded too, because it reads on the
/// device whether it is skipped.
bool can_run_on_host(const TapeOp& op);

/// Fills `host_time` of an optimizer's updates, whose `time` is known. If the device is a host, both times
/// are the same. For another device each distinct op runs on the host, on tensors with the layout of its
/// own (the median of a few runs).
void measure_host_times(Graph& graph, const Tape& tape, const DeviceRuntime& device);

/// Fills `time`, `workspace` and `host_time` of the optimizer's ops. Each distinct op runs alone, which
/// takes the memory of the largest.
void measure_updates(Graph& graph, const Tape& tape, DeviceRuntime& device);

}  // namespace rematlas
