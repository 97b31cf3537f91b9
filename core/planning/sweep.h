// Many budgets, many solvers: the trade-off between memory and time.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/planning/curve_budgets.h"
#include "core/planning/known_answers.h"
#include "core/solving/copies.h"
#include "core/solving/solver.h"

namespace rematlas {

struct SweepPoint {
    Bytes budget;
    std::string status;  ///< optimal, feasible or infeasible
    Bytes peak;          ///< 0 when infeasible
    double overhead = 0;
    std::optional<Bound> bound = {};
    std::vector<Step> steps;              ///< of the schedule found; not written to the file
    Homes homes = {};                     ///< homes of the residents in these steps; not written either
    std::optional<Bytes> arena = {};      ///< of the planned addresses, if the budgets bound it
    std::optional<Bytes> host_peak = {};  ///< of a schedule with copies to the host
};

struct SweepCurve {
    std::string solver;
    std::vector<SweepPoint> points;  ///< budgets ascending, overhead never rising with the budget
    Copies copies = {};              ///< that its schedules may make; bounds cover all such schedules
};

struct Sweep {
    std::string graph;
    std::string graph_sha256;
    std::vector<SweepCurve> curves;
    Pins pins = {};  ///< that all schedules obey; bounds cover all schedules that obey them
};

/// How budgets are placed if the options name none, from the smallest found feasible to the peak without
/// recomputation.
enum class Spacing {
    even,   ///< equal distances
    curve,  ///< each in the interval of the curve of which least is known (curve_budgets.h)
};

struct SweepOptions {
    std::vector<std::string> solvers;
    std::vector<Bytes> budgets = {};  ///< just these; empty: `count` budgets by `spacing`
    int count = 16;
    Spacing spacing = Spacing::curve;
    bool arena = false;  ///< budgets bound the arena of planned addresses
    Limits limits = {};  ///< the time is for the whole sweep
    Pins pins = {};      ///< that all schedules obey
    /// Each element is as in a SolveRequest. A solver has a curve for each element that it can plan.
    std::vector<Copies> copies = {Copies{}};
};

/// Called with a new point and the curve that holds it.
using OnSweepPoint = std::function<void(const SweepCurve&, const SweepPoint&)>;

/// Every schedule is checked. A schedule also answers every other budget that its peak (with `arena`: its
/// arena) fits, on all curves of its solver that allow at least its copies. It answers on such curves of
/// another solver as well, if that solver finds schedules in any order and uses all of its time, as atlas
/// does. So a curve with copies is nowhere above the curve without. A bound counts at every point for which
/// it holds (known_answers.h).
///
/// The sweep takes budgets one by one and solves all curves at each, so that a short time limit gives few
/// points that all solvers solved well. If weights may leave the device, the smallest budget is the bytes
/// that every such schedule needs. The smallest budgets at which no curve has a schedule are left out unless
/// the options name them, although `on_point` was called for them. Equal seeds give equal sweeps if no time
/// limit ends a solver. `on_point` is called after each point; schedules found later may still improve the
/// point. Errors: an unknown solver, a solver that plans none of the copies, copies that no solver plans,
/// copies without links, pins that match nothing or contradict each other.
Result<Sweep> run_sweep(const Graph& graph, const SweepOptions& options, const OnSweepPoint& on_point = {});

/// Adds the peaks and the bounds of the points of the sweep.
void add_sweep(const Sweep& sweep, KnownAnswers& known);

/// Gives each schedule of the sweep the largest bound that is known for its question. A point keeps its own
/// bound if that is larger, as a bound over fewer schedules can be.
void raise_bounds(const Graph& graph, const KnownAnswers& known, Sweep& sweep);

/// The points of a curve as samples, for `curve_area` and `next_budget`.
std::vector<CurveSample> curve_samples(const SweepCurve& curve);

/// The bytes that every schedule needs that copies no more than the problem allows. The bound is
/// `least_memory` if the problem allows no copies, else it comes from the footprints of ops.
Bytes least_needed(const Problem& problem);

/// The least peak that a short search reaches: the smallest budget known to work.
Bytes smallest_known_budget(const Problem& problem, const Limits& limits);

Result<Sweep> read_sweep(const std::filesystem::path& path);
Result<Sweep> parse_sweep(std::string_view text, const std::string& name);
std::string sweep_text(const Sweep& sweep);
Result<void> write_sweep(const Sweep& sweep, const std::filesystem::path& path);

}  // namespace rematlas
