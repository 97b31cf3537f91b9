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
#include "core/solving/solver.h"

namespace rematlas {

struct SweepPoint {
    Bytes budget;
    std::string status;  ///< optimal, feasible or infeasible
    Bytes peak;          ///< 0 when infeasible
    double overhead = 0;
    std::optional<Bound> bound;
    std::vector<Step> steps;          ///< of the schedule found; not written to the file
    Homes homes = {};                 ///< the same
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
    Pins pins = {};                   ///< that all schedules obey; bounds are over those that do
    Offload offload = Offload::none;  ///< what schedules may copy to the host
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
    Limits limits;       ///< the time is for the whole sweep
    Pins pins = {};      ///< that all schedules obey
    Copies copies = {};  ///< as in a SolveRequest
};

/// Every schedule is checked. Each is also an answer to every other budget of its solver's curve that its
/// peak (with `arena`: its arena) fits, and to those of all curves whose solver finds schedules in any order
/// and uses all its time, as atlas does. A bound holds for the smaller budgets of its curve too. Budgets are
/// taken one by one, all solvers at each, so that time ends a sweep with few points solved well by all.
/// Equal seeds give equal sweeps where time does not end a solver. `on_point` is called after each point
/// (solver, point); a point may still become better by what is found at later ones. Errors: an unknown
/// solver, pins that match nothing or contradict each other.
Result<Sweep> run_sweep(const Graph& graph, const SweepOptions& options,
                        const std::function<void(const std::string&, const SweepPoint&)>& on_point = {});

/// What the points of a curve tell of it: with `curve_area`, how much is not known.
std::vector<CurveSample> curve_samples(const SweepCurve& curve);

/// The least peak that a short search reaches: the smallest budget known to work.
Bytes smallest_known_budget(const Problem& problem, const Limits& limits);

Result<Sweep> read_sweep(const std::filesystem::path& path);
Result<Sweep> parse_sweep(std::string_view text, const std::string& name);
std::string sweep_text(const Sweep& sweep);
Result<void> write_sweep(const Sweep& sweep, const std::filesystem::path& path);

}  // namespace rematlas
