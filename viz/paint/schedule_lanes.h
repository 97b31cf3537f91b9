// What runs when, in lanes, for the time line of a schedule.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"

namespace rematlas {

enum class LaneKind { forward, loss, backward, optimizer, recompute, to_host, to_device };

/// Steps of one lane and one module that follow each other without a pause.
struct LaneSpan {
    LaneKind kind = LaneKind::forward;
    Nanoseconds start, end;
    std::string module;  ///< of the level that `lane_spans` chose; for copies the tensor
    int steps = 1;
};

/// Spans in the order they start. Module paths are cut to the level at which the forward pass has at most
/// `max_modules` stretches.
std::vector<LaneSpan> lane_spans(const Graph& graph, const std::vector<Step>& steps,
                                 const Simulation& simulation, int max_modules = 16);

}  // namespace rematlas
