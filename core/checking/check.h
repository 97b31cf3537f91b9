// The independent checker: shares no code with the simulator or the solvers, and runs after every solve.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// The use of one link, or of the ops on the host, in the step.
struct SideUse {
    Bytes bytes;       ///< copied over a link
    Nanoseconds busy;  ///< latencies included
};

struct CheckReport {
    std::vector<std::string> violations;  ///< empty when the schedule is valid; each names its step
    Nanoseconds time;
    double overhead = 0;
    Bytes peak;
    std::size_t peak_step = 0;
    Bytes host_peak;  ///< 0 where nothing is ever on the host
    std::size_t host_peak_step = 0;
    SideUse to_host, to_device, on_host;
    std::size_t runs = 0;       ///< run and run_inplace steps
    std::size_t reruns = 0;     ///< runs of an op that had run before
    std::size_t host_runs = 0;  ///< run_host steps
    bool ok() const { return violations.empty(); }
};

/// Budgets in place of the schedule's own.
struct CheckBudgets {
    std::optional<Bytes> device = {};  ///< none: `schedule.budget` when positive
    std::optional<Bytes> host = {};    ///< none: `schedule.host_budget`
};

/// Plays the schedule on the graph. Compares the outcome with the schedule's predictions (when
/// `schedule.peak` is set; the time when `schedule.time` is set too), with its bound and its gap, and with
/// the budgets. Pins and planned addresses in the schedule are checked too, and their arena is compared with
/// the budget. Stops collecting at 20 violations.
CheckReport check(const Graph& graph, const Schedule& schedule, const CheckBudgets& budgets);
CheckReport check(const Graph& graph, const Schedule& schedule, std::optional<Bytes> budget = std::nullopt);

}  // namespace rematlas
