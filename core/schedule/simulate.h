// The exact simulator: time and memory of a list of steps. Solvers and views use it; the checker does not.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Time and memory of one step of the schedule.
struct StepTrace {
    Nanoseconds start, end;  ///< start == end for steps that take no compute time
    Bytes during;  ///< device bytes held while it runs: everything alive, its outputs and its workspace
    Bytes after;   ///< device bytes alive after it
};

struct Simulation {
    Nanoseconds time;
    Bytes peak;
    std::size_t peak_step = 0;  ///< the first step that reaches the peak
    std::vector<StepTrace> steps;
};

/// Semantics: the file format's, as core/schedule/README.md spells them out. Errors: the first step that is not
/// possible, named by its index. What must hold at the end is not asked: a part of a schedule can be played.
Result<Simulation> simulate(const Graph& graph, const std::vector<Step>& steps);

}  // namespace rematlas
