#include "core/planning/sweep.h"

#include <algorithm>
#include <numeric>

#include "core/planning/ordered_updates.h"
#include "core/planning/pinned_solver.h"
#include "core/planning/registry.h"
#include "core/planning/request.h"
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
    bool are_over() const { return Clock::now() >= end_; }

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
        point.homes = std::move(schedule->homes);
    }
    return point;
}

bool fits(const SweepPoint& found, Bytes budget, bool arena) {
    if (found.status == "infeasible") return false;
    return arena ? found.arena && *found.arena <= budget : found.peak <= budget;
}

void set_gap(SweepPoint& point) {
    if (!point.bound || point.status == "infeasible") return;
    const double above = point.overhead - point.bound->overhead;
    point.bound->gap = above > 0 ? above / point.bound->overhead : 0;
    if (point.bound->gap <= 0) point.status = "optimal";
}

bool is_better(const SweepPoint& found, const SweepPoint& point, bool arena) {
    return fits(found, point.budget, arena) &&
           (point.status == "infeasible" || found.overhead < point.overhead);
}

/// This point's own bound still holds for a schedule from another one.
void take(const SweepPoint& found, SweepPoint& point) {
    point.status = "feasible";
    point.peak = found.peak;
    point.arena = found.arena;
    point.overhead = found.overhead;
    point.steps = found.steps;
    point.homes = found.homes;
    set_gap(point);
}

/// A bound at a larger budget holds for a smaller one.
void offer_bounds(SweepCurve& curve) {
    for (std::size_t i = curve.points.size(); i-- > 1;) {
        const std::optional<Bound>& larger = curve.points[i].bound;
        SweepPoint& point = curve.points[i - 1];
        if (!larger || !point.bound || larger->over != point.bound->over) continue;
        if (larger->overhead <= point.bound->overhead) continue;
        point.bound->overhead = larger->overhead;
        set_gap(point);
    }
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

/// One call of `run_sweep`.
class SweepRun {
  public:
    SweepRun(const Graph& graph, const SweepOptions& options, const Copies& copies,
             const std::function<void(const std::string&, const SweepPoint&)>& on_point)
        : flat_(flatten(graph)),
          problem_{graph, flat_, copies},
          options_(options),
          on_point_(on_point),
          sweep_{graph.name, graph.sha256, {}, options.pins, copies.what},
          order_(quick_solvers_first(options.solvers)),
          smallest_{.peak = keep_all_peak(flat_), .runs = keep_all_sequence(flat_)} {}

    /// Without it the schedules obey no pins.
    void obey(PinnedStep step) {
        pinned_ = std::move(step);
        const RunSequence each_once = keep_all_sequence(pinned_->flat);
        smallest_.runs = on_original(*pinned_, flat_, each_once, keep_all_peak(pinned_->flat));
        smallest_.peak = Bytes(cost_of(flat_, smallest_.runs).peak);
    }

    Result<Sweep> run(std::vector<std::unique_ptr<Solver>> solvers) {
        solvers_ = std::move(solvers);
        const auto start = Clock::now();
        std::vector<Bytes> budgets = first_budgets();
        const std::size_t points =
            options_.budgets.empty() ? static_cast<std::size_t>(options_.count) : budgets.size();
        TimeShares shares(options_.limits.time - (Clock::now() - start), solvers_.size() * points);
        prepare(budgets.back(), points, shares);
        for (const Bytes budget : budgets) {
            if (Result<void> solved = solve_at(budget, shares); !solved) return solved.error();
        }
        for (std::size_t done = budgets.size(); done < points && placed_by_curve() && !shares.are_over();
             ++done) {
            const std::optional<Bytes> budget = next_budget(samples());
            if (!budget) break;
            if (Result<void> solved = solve_at(*budget, shares); !solved) return solved.error();
        }
        for (SweepCurve& curve : sweep_.curves) settle(curve);
        return std::move(sweep_);
    }

  private:
    bool placed_by_curve() const { return options_.budgets.empty() && options_.spacing == Spacing::curve; }

    /// Ascending and distinct.
    std::vector<Bytes> first_budgets() {
        std::vector<Bytes> budgets = options_.budgets;
        if (budgets.empty()) {
            Limits search = options_.limits;
            search.time =
                std::min<std::chrono::nanoseconds>(options_.limits.time / 10, std::chrono::seconds(2));
            SmallestBudget found =
                pinned_ ? smallest_under(*pinned_, flat_, search) : smallest_feasible(problem_, search);
            if (found.peak < smallest_.peak) smallest_ = std::move(found);
            // Where the search found nothing in its time, solvers may.
            const Bytes largest = keep_all_peak(flat_);
            const Bytes least = smallest_.peak < largest ? smallest_.peak : least_peak(flat_).bytes;
            budgets = even_budgets(std::min(least, largest), largest,
                                   placed_by_curve() ? std::min(options_.count, 2) : options_.count);
        }
        std::sort(budgets.begin(), budgets.end());
        budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
        return budgets;
    }

    void prepare(Bytes largest, std::size_t points, const TimeShares& shares) {
        // A solver of this problem alone cannot be asked again with updates in another order.
        const bool one_graph = !has_ordered_updates(problem_.graph);
        for (const std::size_t index : order_) {
            if (!one_graph) break;
            Limits shared = options_.limits;
            shared.time = shares.of(points);
            if (auto prepared = solvers_[index]->up_to(problem_, largest, shared))
                solvers_[index] = std::move(prepared);
        }
        for (const auto& solver : solvers_) sweep_.curves.push_back({std::string(solver->name()), {}});
    }

    Result<void> solve_at(Bytes budget, TimeShares& shares) {
        for (const std::size_t index : order_) {
            SweepCurve& curve = sweep_.curves[index];
            Limits limits = options_.limits;
            limits.time = shares.next();
            Result<Outcome> outcome = options_.arena
                                          ? solve_in_arena(problem_, *solvers_[index], budget, limits)
                                          : solve(problem_, *solvers_[index], budget, limits);
            // Its bytes fit; whether they fit as one arena is another question.
            if (outcome && !options_.arena && outcome->infeasible())
                if (auto found = from_smallest(problem_, smallest_, curve.solver, budget, limits))
                    outcome = *std::move(found);
            if (!outcome) return outcome.error();
            if (const Schedule* schedule = outcome->schedule())
                if (auto obeys = obeys_pins(problem_.graph, schedule->steps, options_.pins); !obeys)
                    return obeys;
            const auto at =
                std::lower_bound(curve.points.begin(), curve.points.end(), budget,
                                 [](const SweepPoint& point, Bytes bytes) { return point.budget < bytes; });
            SweepPoint& point = *curve.points.insert(at, point_from(budget, outcome.take()));
            offer_found(curve, point);
            if (on_point_) on_point_(curve.solver, point);
        }
        return {};
    }

    void offer_found(const SweepCurve& curve, SweepPoint& point) {
        const SolverTraits& traits = find_solver(curve.solver)->traits;
        const bool takes_any = traits.anytime && traits.finds == ScheduleClass::any_order;
        const ScheduleClass most = std::max(traits.finds, class_within(problem_.graph, problem_.copies.what));
        for (const SweepCurve& other : sweep_.curves) {
            if (!takes_any && &other != &curve) continue;
            for (const SweepPoint& found : other.points) {
                if (is_better(found, point, options_.arena) &&
                    (&other == &curve || class_of(found.steps) <= most))
                    take(found, point);
            }
        }
    }

    /// What was found after a point may be better.
    void settle(SweepCurve& curve) {
        for (SweepPoint& point : curve.points) offer_found(curve, point);
        offer_bounds(curve);
    }

    /// Of all solvers: the best that is known of the curve over all that schedules may do.
    std::vector<CurveSample> samples() const {
        const ScheduleClass over = class_within(problem_.graph, problem_.copies.what);
        std::vector<CurveSample> all;
        if (smallest_.peak < keep_all_peak(flat_)) {
            all.push_back({.budget = smallest_.peak,
                           .peak = smallest_.peak,
                           .overhead = solution_from(flat_, smallest_.runs).overhead});
        }
        for (const SweepCurve& curve : sweep_.curves) {
            std::vector<CurveSample> found = curve_samples(curve);
            for (std::size_t i = 0; i < found.size(); ++i) {
                const std::optional<Bound>& bound = curve.points[i].bound;
                if (bound && bound->over != over) found[i].bound = 0;
            }
            all.insert(all.end(), found.begin(), found.end());
        }
        return all;
    }

    const FlatGraph flat_;
    const Problem problem_;
    const SweepOptions& options_;
    const std::function<void(const std::string&, const SweepPoint&)>& on_point_;
    Sweep sweep_;
    std::vector<std::unique_ptr<Solver>> solvers_;
    const std::vector<std::size_t> order_;
    std::optional<PinnedStep> pinned_;
    SmallestBudget smallest_;
};

}  // namespace

std::vector<CurveSample> curve_samples(const SweepCurve& curve) {
    std::vector<CurveSample> samples;
    for (const SweepPoint& point : curve.points) {
        CurveSample sample{.budget = point.budget};
        if (point.status != "infeasible") {
            sample.peak = point.peak;
            sample.overhead = point.overhead;
        }
        if (point.bound) sample.bound = point.bound->overhead;
        samples.push_back(sample);
    }
    return samples;
}

Bytes smallest_known_budget(const Problem& problem, const Limits& limits) {
    return std::min(smallest_feasible(problem, limits).peak, keep_all_peak(problem.flat));
}

Result<Sweep> run_sweep(const Graph& graph, const SweepOptions& options,
                        const std::function<void(const std::string&, const SweepPoint&)>& on_point) {
    std::vector<std::unique_ptr<Solver>> solvers;
    Copies copies = options.copies;
    if (copies.what != Offload::none && !options.pins.empty())
        return Error{"pins are about schedules without copies to the host"};
    for (const std::string& name : options.solvers) {
        Result<std::unique_ptr<Solver>> solver = make_solver(name);
        if (!solver) return solver.error();
        Result<Copies> known = copies_for(graph, name, std::move(copies));
        if (!known) return known.error();
        copies = known.take();
        solver = under_pins(graph, options.pins, solver.take());
        if (!solver) return solver.error();
        solvers.push_back(solver.take());
    }
    SweepRun sweep(graph, options, copies, on_point);
    if (!options.pins.empty()) {
        Result<PinnedStep> step = pinned_step(graph, options.pins);
        if (!step) return step.error();
        sweep.obey(step.take());
    }
    return sweep.run(std::move(solvers));
}

}  // namespace rematlas
