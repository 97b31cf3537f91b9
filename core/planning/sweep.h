// Solves many budgets with many solvers, for the trade-off between memory and time.
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
    Bytes peak;          ///< 0 if infeasible
    double overhead = 0;
    std::optional<Bound> bound = {};
    std::vector<Step> steps;              ///< steps of the schedule found; not written to the file
    Homes homes = {};                     ///< homes of the schedule found; not written to the file
    std::optional<Bytes> arena = {};      ///< arena of the planned addresses, if budgets bound the arena
    std::optional<Bytes> host_peak = {};  ///< peak on the host, if the schedule copies to the host
};

struct SweepCurve {
    std::string solver;
    std::vector<SweepPoint> points;  ///< budgets ascending; the overhead never rises with the budget
    /// The copies that the schedules may make; bounds hold for all schedules that make no other copies.
    Copies copies = {};
};

struct Sweep {
    std::string graph;
    std::string graph_sha256;
    std::vector<SweepCurve> curves;
    Pins pins = {};  ///< all schedules obey these pins; bounds hold for all schedules that obey them
};

/// How budgets are chosen if the options do not name them. The largest budget is the peak without
/// recomputation. The smallest budget is the least peak that a short search finds. If the search finds no
/// smaller peak than the one without recomputation, or if weights may be offloaded, the smallest budget is a
/// proven lower bound on the peak.
enum class Spacing {
    even,   ///< equal distances
    curve,  ///< each budget is in the interval where least is known about the curve (curve_budgets.h)
};

struct SweepOptions {
    std::vector<std::string> solvers;
    std::vector<Bytes> budgets = {};  ///< the budgets to solve; if empty, `count` budgets are chosen by
                                      ///< `spacing`
    int count = 16;
    Spacing spacing = Spacing::curve;
    bool arena = false;  ///< budgets bound the arena of planned addresses
    Limits limits = {};  ///< the time is for the whole sweep
    Pins pins = {};      ///< all schedules obey these pins
    /// The copies to plan for, each as in a SolveRequest. A solver gets one curve for each element that it
    /// can plan.
    std::vector<Copies> copies = {Copies{}};
};

/// Called with a curve and with the point that was just added to the curve.
using OnSweepPoint = std::function<void(const SweepCurve&, const SweepPoint&)>;

/// Solves all budgets with all solvers, and checks every schedule. A schedule is also used at other budgets
/// and in other curves. This is allowed if its peak (with `arena`: its arena) fits the budget, if the curve
/// allows its copies, and if the curve's solver is the same or is an anytime solver that finds schedules in
/// any order, as atlas does. So a curve with copies is nowhere above the solver's curve without copies. A
/// bound counts at every point for which it holds (known_answers.h). The budgets are solved one after the
/// other, each for all curves. So if the time is short, the sweep has fewer points, but each is solved well
/// in all curves. If weights may be offloaded, the budgets start at the bytes that every schedule needs. At
/// the end, the smallest budgets at which no curve has a schedule are removed, unless the options name the
/// budgets. `on_point` is called after each point; the point can still improve later, or be removed at the
/// end. Equal seeds give equal sweeps unless a solver was ended by its time limit. Errors: an unknown solver,
/// a solver that plans none of the copies, copies without links, pins that match nothing or contradict each
/// other.
Result<Sweep> run_sweep(const Graph& graph, const SweepOptions& options, const OnSweepPoint& on_point = {});

/// Returns the schedule of a point. `solver` must be the solver of the point's curve, and the problem must
/// allow the same copies as this curve. The point must be feasible and contain its steps.
Schedule schedule_of(const Problem& problem, std::string_view solver, const SweepPoint& point,
                     Pins pins = {});

/// Adds the peaks and bounds of the sweep's points to `known`.
void add_sweep(const Sweep& sweep, KnownAnswers& known);

/// Gives each schedule of the sweep the largest bound that is known for its question. A point whose bound is
/// already larger keeps that bound, which may hold for fewer schedules.
void raise_bounds(const Graph& graph, const KnownAnswers& known, Sweep& sweep);

/// Returns the points of a curve as samples, for example for `curve_pieces`.
std::vector<CurveSample> curve_samples(const SweepCurve& curve);

/// Returns bytes that every schedule needs if it copies no more than the problem allows: the bound of
/// `least_memory` if nothing may be copied, else a bound by the footprints of ops.
Bytes least_needed(const Problem& problem);

/// Returns the least peak that a short search reaches. It is the smallest budget that is known to work.
Bytes smallest_known_budget(const Problem& problem, const Limits& limits);

Result<Sweep> read_sweep(const std::filesystem::path& path);
Result<Sweep> parse_sweep(std::string_view text, const std::string& name);
std::string sweep_text(const Sweep& sweep);
Result<void> write_sweep(const Sweep& sweep, const std::filesystem::path& path);

}  // namespace rematlas
