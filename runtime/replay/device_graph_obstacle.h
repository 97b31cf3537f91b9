// Whether the device can capture the steps of a schedule as graphs and submit them as a whole (CUDA graphs).
//
//     if (const auto obstacle = device_graph_obstacle(graph, tape, steps)) ...  // *obstacle says why
//
// A graph repeats the same kernels on the same addresses, and leaves out the work that the host did in
// between. So no op may wait for the device, read or make tensors in host memory, or have a shape that
// depends on values; and it must be known beforehand how many numbers a random op draws.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// Returns nothing if the steps can be captured, else the first op that prevents it and why. Only the tape
/// is examined: an op may still turn out to be impossible to capture. Steps before and after
/// `output_gradients_op` are captured apart. Cost: linear in the steps and in the arguments of their ops.
std::optional<std::string> device_graph_obstacle(const Graph& graph, const Tape& tape,
                                                 std::span<const Step> steps);

}  // namespace rematlas
