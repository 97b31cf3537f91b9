// The independent check of pins (core/schedule/pin.h). It shares no code with core/pins, the code that makes
// schedules obey pins.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/pin.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Returns one line for each violation of a pin. Stops once there are 20 lines. Each line names the pin. If
/// the violation happens at a step, the line also names the step. Two other things count as violations: a pin
/// that matches nothing in the graph, and a recompute pin if the graph has no loss. Cost for each pin: linear
/// in the ops, tensors and steps.
std::vector<std::string> broken_pins(const Graph& graph, const std::vector<Step>& steps, const Pins& pins);

}  // namespace rematlas
