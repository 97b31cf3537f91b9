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
    Homes homes = {};                     ///< the same
    std::optional<Bytes> arena = {};      ///< of the planned addresses, when the budgets bound it
    std::optional<Bytes> host_peak = {};  ///< of a schedule with copies to the host
};

struct SweepCurve {
    std::string solver;
    std::vector<SweepPoint> points;  ///< budgets ascending, overhead never rising with the budget
    Copies copies = {};              ///< that its schedules may make; bounds are over all that make no others
};

struct Sweep {
    std::string graph;
    std::string graph_sha256;
    std::vector<SweepCurve> curves;
    Pins pins = {};  ///< that all schedules obey; bounds are over those that do
};

/// Budgets that were not asked for by name, from the smallest found feasible to the peak without
/// recomputation.
enum class Spacing {
    even,   ///< equal distances
    curve,  ///< where the curve bends: always in the interval of which least is known (curve_budgets.h)
};

struct SweepOptions {
    std::vector<std::string> solvers;
    std::vector<Bytes> budgets = {};  ///< just these; empty: `count` budgets by `spacing`
    int count = 16;
    Spacing spacing = Spacing::curve;
    bool arena = false;  ///< budgets bound the arena of planned addresses
    Limits limits = {};  ///< the time is for the whole sweep
    Pins pins = {};      ///< that all schedules obey
    /// Each as in a SolveRequest. A solver has a curve for each of them that it can plan.
    std::vector<Copies> copies = {Copies{}};
};

/// Called with the curve that a point was found for, which holds it.
using OnSweepPoint = std::function<void(const SweepCurve&, const SweepPoint&)>;

/// Every schedule is checked. Each is also an answer to every other budget that its peak (with `arena`: its
/// arena) fits, of the curves of its solver that may copy as much or more, and of all such curves whose
/// solver finds schedules in any order and uses all its time, as atlas does. So a curve with copies is
/// nowhere above the one without. A bound counts at every point for which it holds (known_answers.h). Budgets
/// are taken one by one, all curves at each, so that time ends a sweep with few points solved well by all;
/// where weights may leave the device they are looked for from what every schedule needs then on; budgets
/// that nobody asked for and for which no curve has a schedule are left out at the beginning, though
/// `on_point` has told of them. Equal seeds give equal sweeps where time does not end a solver. `on_point` is
/// called after each point; a point may still become better by what is found at later ones. Errors: an
/// unknown solver, one that plans none of the copies, copies without links, pins that match nothing or
/// contradict each other.
Result<Sweep> run_sweep(const Graph& graph, const SweepOptions& options, const OnSweepPoint& on_point = {});

/// The schedule of a point of a curve of that solver, whose copies are those of the problem. The point was
/// found, and holds its steps.
Schedule schedule_of(const Problem& problem, std::string_view solver, const SweepPoint& point,
                     Pins pins = {});

/// Adds what the points of the sweep have found and proven.
void add_sweep(const Sweep& sweep, KnownAnswers& known);

/// Gives each schedule of the sweep the largest bound that is known of its question. A point keeps its own
/// bound where that is larger, as those over fewer schedules are.
void raise_bounds(const Graph& graph, const KnownAnswers& known, Sweep& sweep);

/// What the points of a curve tell of it: with `curve_area`, how much is not known.
std::vector<CurveSample> curve_samples(const SweepCurve& curve);

/// What every schedule needs that copies no more than the problem allows: `least_memory` where nothing may be copied,
/// else the footprints of ops.
Bytes least_needed(const Problem& problem);

/// The least peak that a short search reaches: the smallest budget known to work.
Bytes smallest_known_budget(const Problem& problem, const Limits& limits);

Result<Sweep> read_sweep(const std::filesystem::path& path);
Result<Sweep> parse_sweep(std::string_view text, const std::string& name);
std::string sweep_text(const Sweep& sweep);
Result<void> write_sweep(const Sweep& sweep, const std::filesystem::path& path);

}  // namespace rematlas
