// The independent checker: shares no code with the simulator or the solvers, and runs after every solve.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

struct CheckReport {
    std::vector<std::string> violations;  ///< empty when the schedule is valid; each names its step
    Nanoseconds time;
    double overhead = 0;
    Bytes peak;
    std::size_t peak_step = 0;
    std::size_t runs = 0;    ///< run and run_inplace steps
    std::size_t reruns = 0;  ///< runs of an op that had run before
    bool ok() const { return violations.empty(); }
};

/// Plays the schedule on the graph and compares with what the schedule predicts (when `schedule.peak` is set)
/// and with the budget (`budget`, else `schedule.budget` when positive). Pins and planned addresses in the
/// schedule are checked too, and the arena of these against the budget. Stops collecting at 20 violations.
CheckReport check(const Graph& graph, const Schedule& schedule, std::optional<Bytes> budget = std::nullopt);

}  // namespace rematlas
