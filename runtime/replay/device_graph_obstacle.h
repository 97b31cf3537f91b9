// Says whether the device can capture the steps of a schedule as graphs and submit them as a whole (CUDA
// graphs).
//
//     if (const auto obstacle = device_graph_obstacle(graph, tape, steps)) ...  // *obstacle says why
//
// A graph repeats the same kernels on the same addresses, without the host's work between them. So no op may
// wait for the device, read or make tensors in host memory, or have a shape that depends on values. The count
// of numbers that a random op draws must be known.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// Returns nothing if the steps can be captured, else a text that names the first obstacle and says why it
/// is one. Only graph, tape and steps are examined, so the capture may still fail. Steps before and after
/// `output_gradients_op` are captured separately. Cost: linear in the steps and in the arguments of their
/// ops.
std::optional<std::string> device_graph_obstacle(const Graph& graph, const Tape& tape,
                                                 std::span<const Step> steps);

}  // namespace rematlas
