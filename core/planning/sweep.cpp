#include "core/planning/sweep.h"

#include <algorithm>
#include <numeric>

#include "core/planning/registry.h"
#include "core/planning/solve_in_arena.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/atlas/smallest_budget.h"
#include "core/solving/answers.h"

namespace rematlas {
namespace {

using Clock = std::chrono::steady_clock;

/// The time that is left, divided over the points that are left.
class TimeShares {
  public:
    TimeShares(std::chrono::nanoseconds total, std::size_t points)
        : end_(Clock::now() + total), left_(points) {}
    std::chrono::nanoseconds next() {
        const auto share = of(1);
        --left_;
        return share;
    }
    std::chrono::nanoseconds of(std::size_t points) const {
        const auto rest =
            std::max<std::chrono::nanoseconds>(end_ - Clock::now(), std::chrono::milliseconds(1));
        return rest * points / std::max<std::size_t>(left_, points);
    }

  private:
    Clock::time_point end_;
    std::size_t left_;
};

SweepPoint point_from(Bytes budget, Outcome&& outcome) {
    SweepPoint point{
        .budget = budget, .status = "infeasible", .peak = {}, .overhead = 0, .bound = {}, .steps = {}};
    if (auto* schedule = std::get_if<Schedule>(&outcome.answer)) {
        point.status = schedule->status;
        point.peak = schedule->peak;
        if (schedule->addresses) point.arena = schedule->addresses->arena;
        point.overhead = schedule->overhead;
        point.bound = schedule->bound;
        point.steps = std::move(schedule->steps);
    }
    return point;
}

/// A schedule for a smaller budget keeps a larger one too; this point's own bound still holds for it.
void offer_smaller(const SweepPoint& smaller, SweepPoint& point) {
    if (smaller.status == "infeasible") return;
    if (point.status != "infeasible" && point.overhead <= smaller.overhead) return;
    point.status = "feasible";
    point.peak = smaller.peak;
    point.arena = smaller.arena;
    point.overhead = smaller.overhead;
    point.steps = smaller.steps;
    if (!point.bound) return;
    const double above = point.overhead - point.bound->overhead;
    point.bound->gap = above > 0 ? above / point.bound->overhead : 0;
    if (point.bound->gap <= 0) point.status = "optimal";
}

/// Those that use all the time that they are given come last: they also get what the others leave.
std::vector<std::size_t> quick_solvers_first(const std::vector<std::string>& names) {
    std::vector<std::size_t> order(names.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t i) { return !find_solver(names[i])->traits.anytime; });
    return order;
}

/// What the search for the smallest budget found is an answer too, for solvers of its class: a short search
/// for time may not find it again. Nothing where it does not apply.
std::optional<Result<Outcome>> from_smallest(const Problem& problem, const SmallestBudget& smallest,
                                             std::string_view solver, Bytes budget, const Limits& limits) {
    if (smallest.peak > budget || find_solver(solver)->traits.finds < ScheduleClass::any_order)
        return std::nullopt;
    Result<Schedule> schedule =
        checked(problem, solution_from(problem.flat, smallest.runs), solver, budget, limits);
    if (!schedule) return schedule.error();
    Outcome outcome;
    outcome.answer = schedule.take();
    return outcome;
}

}  // namespace

std::vector<Bytes> even_budgets(Bytes smallest, Bytes largest, int count) {
    std::vector<Bytes> budgets;
    if (count <= 1 || smallest >= largest) return {largest};
    const std::int64_t range = largest.value - smallest.value;
    for (int i = 0; i + 1 < count; ++i) budgets.push_back(smallest + Bytes(range / (count - 1) * i));
    budgets.push_back(largest);
    budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
    return budgets;
}

Bytes smallest_known_budget(const Problem& problem, const Limits& limits) {
    return std::min(smallest_feasible(problem.flat, limits).peak, keep_all_peak(problem.flat));
}

Result<Sweep> run_sweep(const Graph& graph, const SweepOptions& options,
                        const std::function<void(const std::string&, const SweepPoint&)>& on_point) {
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat};
    std::vector<std::unique_ptr<Solver>> solvers;
    for (const std::string& name : options.solvers) {
        Result<std::unique_ptr<Solver>> solver = make_solver(name);
        if (!solver) return solver.error();
        solvers.push_back(solver.take());
    }
    const auto start = Clock::now();
    std::vector<Bytes> budgets = options.budgets;
    SmallestBudget smallest{.peak = keep_all_peak(flat), .runs = keep_all_sequence(flat)};
    if (budgets.empty()) {
        Limits search = options.limits;
        search.time = std::min<std::chrono::nanoseconds>(options.limits.time / 10, std::chrono::seconds(2));
        SmallestBudget found = smallest_feasible(flat, search);
        if (found.peak < smallest.peak) smallest = std::move(found);
        budgets = even_budgets(smallest.peak, keep_all_peak(flat), options.count);
    }
    std::sort(budgets.begin(), budgets.end());
    budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
    TimeShares shares(options.limits.time - (Clock::now() - start), solvers.size() * budgets.size());
    Sweep sweep{graph.name, graph.sha256, {}};
    sweep.curves.resize(solvers.size());
    for (std::size_t index : quick_solvers_first(options.solvers)) {
        std::unique_ptr<Solver>& solver = solvers[index];
        SweepCurve& curve = sweep.curves[index];
        Limits shared = options.limits;
        shared.time = shares.of(budgets.size());
        if (auto prepared = solver->up_to(problem, budgets.back(), shared)) solver = std::move(prepared);
        curve.solver = solver->name();
        for (Bytes budget : budgets) {
            Limits limits = options.limits;
            limits.time = shares.next();
            Result<Outcome> outcome = options.arena ? solve_in_arena(problem, *solver, budget, limits)
                                                    : solve(problem, *solver, budget, limits);
            // Its bytes fit; whether they fit as one arena is another question.
            if (outcome && !options.arena && outcome->infeasible())
                if (auto found = from_smallest(problem, smallest, curve.solver, budget, limits))
                    outcome = *std::move(found);
            if (!outcome) return outcome.error();
            SweepPoint point = point_from(budget, outcome.take());
            if (!curve.points.empty()) offer_smaller(curve.points.back(), point);
            if (on_point) on_point(curve.solver, point);
            curve.points.push_back(std::move(point));
        }
    }
    return sweep;
}

}  // namespace rematlas
