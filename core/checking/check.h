// The independent checker. It shares no code with the simulator or the solvers, and runs after every solve.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// How much one training step uses a link, uses the host to run ops, or uses a queue of collectives.
struct SideUse {
    Bytes bytes;       ///< bytes copied over a link, or sent by collectives; 0 for ops on the host
    Nanoseconds busy;  ///< busy time, with latencies
};

struct CheckReport {
    std::vector<std::string> violations;  ///< empty if the schedule is valid; most texts name a step
    Nanoseconds time;
    double overhead = 0;
    Bytes peak;
    std::size_t peak_step = 0;
    Bytes host_peak;  ///< 0 if nothing is ever on the host
    std::size_t host_peak_step = 0;
    SideUse to_host, to_device, on_host;
    std::map<std::string, SideUse> collectives;  ///< by the name of the queue
    std::size_t runs = 0;                        ///< number of run and run_inplace steps
    std::size_t reruns = 0;                      ///< number of runs of an op that had run before
    std::size_t host_runs = 0;                   ///< number of run_host steps
    bool ok() const { return violations.empty(); }
};

/// Budgets that replace the budgets of the schedule.
struct CheckBudgets {
    /// If not set: `schedule.budget`; no limit if that is 0.
    std::optional<Bytes> device = {};
    std::optional<Bytes> host = {};  ///< if not set: `schedule.host_budget`
};

/// Simulates the schedule on the graph, with the checker's own code. Compares the outcome with the schedule's
/// predictions (if `schedule.peak` is set; the time only if `schedule.time` is set, too), with its bound and
/// its gap, and with the budgets. Also checks the pins and the planned addresses of the schedule, and
/// compares the arena of the addresses with the budget. Collects at most 20 violations.
CheckReport check(const Graph& graph, const Schedule& schedule, const CheckBudgets& budgets);
CheckReport check(const Graph& graph, const Schedule& schedule, std::optional<Bytes> budget = std::nullopt);

}  // namespace rematlas
