// The independent check of pins (core/schedule/pin.h). It shares no code with core/pins, which makes
// schedules obey them.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/pin.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Returns a line for each violation of a pin, at most 20 lines. Each line names the pin, and the step if
/// one step violates the pin. A pin that matches nothing in the graph, and a recompute pin for a graph
/// without a loss, are violated, too. Cost: linear in the ops, tensors and steps for each pin.
std::vector<std::string> broken_pins(const Graph& graph, const std::vector<Step>& steps, const Pins& pins);

}  // namespace rematlas
