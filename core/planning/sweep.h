// Many budgets, many solvers: the trade-off between memory and time.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/solving/solver.h"

namespace rematlas {

struct SweepPoint {
    Bytes budget;
    std::string status;  ///< optimal, feasible or infeasible
    Bytes peak;          ///< 0 when infeasible
    double overhead = 0;
    std::optional<Bound> bound;
    std::vector<Step> steps;          ///< of the schedule found; not written to the file
    std::optional<Bytes> arena = {};  ///< of the planned addresses, when the budgets bound it
};

struct SweepCurve {
    std::string solver;
    std::vector<SweepPoint> points;  ///< budgets ascending, overhead never rising with the budget
};

struct Sweep {
    std::string graph;
    std::string graph_sha256;
    std::vector<SweepCurve> curves;
};

struct SweepOptions {
    std::vector<std::string> solvers;
    std::vector<Bytes> budgets;  ///< empty: `count` budgets from the smallest found feasible to the peak
                                 ///< without recomputation
    int count = 16;
    bool arena = false;  ///< budgets bound the arena of planned addresses
    Limits limits;       ///< the time is for the whole sweep
};

/// Every schedule is checked; a schedule for a smaller budget is offered to the larger ones. `on_point` is
/// called after each point (solver, point). Errors: an unknown solver.
Result<Sweep> run_sweep(const Graph& graph, const SweepOptions& options,
                        const std::function<void(const std::string&, const SweepPoint&)>& on_point = {});

/// `count` budgets from smallest to largest, evenly spaced, both included.
std::vector<Bytes> even_budgets(Bytes smallest, Bytes largest, int count);

/// The least peak that a short search reaches: the smallest budget known to work.
Bytes smallest_known_budget(const Problem& problem, const Limits& limits);

Result<Sweep> read_sweep(const std::filesystem::path& path);
Result<Sweep> parse_sweep(std::string_view text, const std::string& name);
std::string sweep_text(const Sweep& sweep);
Result<void> write_sweep(const Sweep& sweep, const std::filesystem::path& path);

}  // namespace rematlas
