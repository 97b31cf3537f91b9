#include "core/planning/sweep.h"

#include <algorithm>
#include <numeric>

#include "core/bounds/least_memory.h"
#include "core/planning/pinned_solver.h"
#include "core/planning/registry.h"
#include "core/planning/request.h"
#include "core/planning/solve_in_arena.h"
#include "core/planning/solve_with_queues.h"
#include "core/planning/sweep_tasks.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/atlas/smallest_budget.h"
#include "core/solving/answers.h"
#include "core/solving/ordered_updates.h"

namespace rematlas {
namespace {

using Clock = std::chrono::steady_clock;

/// Divides the remaining time among the remaining points.
class TimeShares {
  public:
    TimeShares(std::chrono::nanoseconds total, std::size_t points)
        : end_(Clock::now() + total), left_(points) {}
    std::chrono::nanoseconds next() {
        const auto share = of(1);
        left_ -= left_ > 0 ? 1 : 0;
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
        point.host_peak = schedule->host_peak;
    }
    return point;
}

bool fits(const SweepPoint& found, Bytes budget, bool arena) {
    if (found.status == "infeasible") return false;
    return arena ? found.arena && *found.arena <= budget : found.peak <= budget;
}

void set_gap(SweepPoint& point) {
    if (!point.bound || point.status == "infeasible") return;
    point.bound->gap = gap_above(point.overhead, point.bound->overhead);
    if (point.bound->gap <= 0) point.status = "optimal";
}

bool is_better(const SweepPoint& found, const SweepPoint& point, bool arena) {
    return fits(found, point.budget, arena) &&
           (point.status == "infeasible" || found.overhead < point.overhead);
}

/// Gives the point the schedule of `found`. The point keeps its own bound, which still holds.
void take(const SweepPoint& found, SweepPoint& point) {
    point.status = "feasible";
    point.peak = found.peak;
    point.arena = found.arena;
    point.overhead = found.overhead;
    point.steps = found.steps;
    point.homes = found.homes;
    point.host_peak = found.host_peak;
    set_gap(point);
}

/// Replaces the point's own bound, unless it is larger than the new bound. An equal bound is replaced,
/// because the new bound may cover more schedules.
void raise_bound(SweepPoint& point, double overhead, ScheduleClass over) {
    if (point.bound && point.bound->overhead > overhead) return;
    if (!point.bound) point.bound.emplace();
    point.bound->overhead = overhead;
    point.bound->over = over;
    set_gap(point);
}

/// Returns the indices of the tasks in the order in which they are solved. Solvers that use all of their time
/// come last, so that they also get the time that the other solvers do not use.
std::vector<std::size_t> quick_solvers_first(const std::vector<SweepTask>& tasks) {
    std::vector<std::size_t> order(tasks.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t i) { return !traits_of(tasks[i].solver->name()).anytime; });
    return order;
}

/// Returns the different `Copies` settings of the tasks. Settings that allow fewer kinds of tensors to be
/// copied come first.
std::vector<Copies> kinds_of(const std::vector<SweepTask>& tasks) {
    std::vector<Copies> kinds;
    for (const SweepTask& task : tasks)
        if (std::find(kinds.begin(), kinds.end(), task.problem.copies) == kinds.end())
            kinds.push_back(task.problem.copies);
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](const Copies& a, const Copies& b) { return a.what < b.what; });
    return kinds;
}

/// Says whether a schedule that was found under the setting `found` may be used in a curve with the setting
/// `asked`.
bool may_serve(const Copies& found, const Copies& asked) {
    return found == asked || found.what == Offload::none ||
           (is_within(found.what, asked.what) && found.links == asked.links &&
            found.host_budget == asked.host_budget);
}

/// Returns the schedule with the smallest known peak as an answer of the solver, because the solver can miss
/// this schedule in a short search. Returns nothing if the schedule does not fit the budget, or if the solver
/// finds only schedules of a class smaller than `any_order`.
std::optional<Result<Outcome>> from_smallest(const Problem& problem, const SmallestBudget& smallest,
                                             std::string_view solver, Bytes budget, const Limits& limits) {
    if (smallest.peak > budget || traits_of(solver).finds < ScheduleClass::any_order) return std::nullopt;
    Solution solution = solution_from(problem.flat, smallest.runs);
    if (has_queues(problem.graph))
        solution = with_collectives_beside(problem, std::move(solution), budget, limits);
    Result<Schedule> schedule = checked(problem, std::move(solution), solver, budget, limits);
    if (!schedule) return schedule.error();
    Outcome outcome;
    outcome.answer = schedule.take();
    return outcome;
}

/// One call of `run_sweep`.
class SweepRun {
  public:
    SweepRun(const Graph& graph, const FlatGraph& flat, const SweepOptions& options,
             std::vector<SweepTask> tasks, const OnSweepPoint& on_point)
        : flat_(flat),
          options_(options),
          on_point_(on_point),
          sweep_{graph.name, graph.sha256, {}, options.pins},
          tasks_(std::move(tasks)),
          order_(quick_solvers_first(tasks_)),
          kinds_(kinds_of(tasks_)),
          smallest_{.peak = keep_all_peak(flat_), .runs = keep_all_sequence(flat_)} {}

    /// Applies the pins to the schedule with the smallest known peak, and to the search for smaller budgets.
    /// `step` must be the step under the pins of the options.
    void obey(PinnedStep step) {
        pinned_ = std::move(step);
        const RunSequence each_once = keep_all_sequence(pinned_->flat);
        smallest_.runs = on_original(*pinned_, flat_, each_once, keep_all_peak(pinned_->flat));
        smallest_.peak = Bytes(cost_of(flat_, smallest_.runs).peak);
    }

    Result<Sweep> run() {
        const auto start = Clock::now();
        std::vector<Bytes> budgets = first_budgets();
        const std::size_t points =
            options_.budgets.empty() ? static_cast<std::size_t>(options_.count) : budgets.size();
        TimeShares shares(options_.limits.time - (Clock::now() - start), tasks_.size() * points);
        prepare(budgets.back(), points, shares);
        for (const Bytes budget : budgets) {
            if (Result<void> solved = solve_at(budget, shares); !solved) return solved.error();
        }
        // For each budget at which no curve has a schedule, another budget is tried.
        for (std::size_t done = budgets.size(); done < points + std::min(budgets_without_any(), points) &&
                                                placed_by_curve() && !shares.are_over();
             ++done) {
            const std::optional<Bytes> budget = where_least_is_known(done);
            if (!budget) break;
            if (Result<void> solved = solve_at(*budget, shares); !solved) return solved.error();
        }
        for (SweepCurve& curve : sweep_.curves) settle(curve);
        KnownAnswers known(first_problem().graph);
        add_sweep(sweep_, known);
        raise_bounds(first_problem().graph, known, sweep_);
        if (options_.budgets.empty()) begin_where_some_is_found();
        return std::move(sweep_);
    }

  private:
    bool placed_by_curve() const { return options_.budgets.empty() && options_.spacing == Spacing::curve; }
    const Problem& first_problem() const { return tasks_.front().problem; }

    /// Returns the budgets that are solved first, ascending and distinct.
    std::vector<Bytes> first_budgets() {
        std::vector<Bytes> budgets = options_.budgets;
        if (budgets.empty()) {
            Limits search = options_.limits;
            search.time =
                std::min<std::chrono::nanoseconds>(options_.limits.time / 10, std::chrono::seconds(2));
            SmallestBudget found = pinned_ ? smallest_under(*pinned_, flat_, search)
                                           : smallest_feasible(first_problem(), search);
            if (found.peak < smallest_.peak) smallest_ = std::move(found);
            // If the search found nothing in its time, solvers may still find schedules with a smaller peak.
            const Bytes largest = keep_all_peak(flat_);
            Bytes least = smallest_.peak < largest ? smallest_.peak : least_peak(flat_).bytes;
            for (const Copies& kind : kinds_)
                if (moves_weights(kind.what))
                    least = std::min(least, least_needed({first_problem().graph, flat_, kind}));
            budgets = even_budgets(std::min(least, largest), largest,
                                   placed_by_curve() ? std::min(options_.count, 2) : options_.count);
        }
        std::sort(budgets.begin(), budgets.end());
        budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
        return budgets;
    }

    /// Returns how many of the smallest budgets are infeasible for every curve. Returns 0 if no weights may
    /// be offloaded, because only sweeps with offloaded weights begin at a lower bound, which may be out of
    /// reach. Also returns 0 if all budgets are infeasible, because then these points are the answer.
    std::size_t budgets_without_any() const {
        if (std::none_of(kinds_.begin(), kinds_.end(), [](const Copies& c) { return moves_weights(c.what); }))
            return 0;
        std::optional<std::size_t> least;
        for (const SweepCurve& curve : sweep_.curves) {
            const auto found = std::find_if(curve.points.begin(), curve.points.end(),
                                            [](const SweepPoint& p) { return p.status != "infeasible"; });
            if (found == curve.points.end()) continue;
            const auto before = static_cast<std::size_t>(found - curve.points.begin());
            least = std::min(least.value_or(before), before);
        }
        return least.value_or(0);
    }

    /// Removes the smallest budgets at which no curve has a schedule. The user did not name these budgets,
    /// and their points show nothing.
    void begin_where_some_is_found() {
        const auto none = static_cast<std::ptrdiff_t>(budgets_without_any());
        for (SweepCurve& curve : sweep_.curves)
            curve.points.erase(curve.points.begin(), curve.points.begin() + none);
    }

    void prepare(Bytes largest, std::size_t points, const TimeShares& shares) {
        // A solver from `up_to` answers for one graph only. So it cannot be used if `solve_in_order` or
        // `solve_with_queues` may pass another graph to it.
        const Graph& graph = first_problem().graph;
        const bool one_graph = !has_ordered_updates(graph) && !has_queues(graph);
        for (const std::size_t index : order_) {
            if (!one_graph) break;
            SweepTask& task = tasks_[index];
            Limits shared = options_.limits;
            shared.time = shares.of(points);
            if (auto prepared = task.solver->up_to(task.problem, largest, shared))
                task.solver = std::move(prepared);
        }
        for (const SweepTask& task : tasks_)
            sweep_.curves.push_back({std::string(task.solver->name()), {}, task.problem.copies});
    }

    Result<void> solve_at(Bytes budget, TimeShares& shares) {
        for (const std::size_t index : order_) {
            SweepCurve& curve = sweep_.curves[index];
            const SweepTask& task = tasks_[index];
            Limits limits = options_.limits;
            limits.time = shares.next();
            Result<Outcome> outcome = options_.arena
                                          ? solve_in_arena(task.problem, *task.solver, budget, limits)
                                          : solve(task.problem, *task.solver, budget, limits);
            // The schedule with the smallest known peak is not used for an arena: even if its peak fits the
            // budget, its arena can be too large.
            if (outcome && !options_.arena && outcome->infeasible())
                if (auto found = from_smallest(task.problem, smallest_, curve.solver, budget, limits))
                    outcome = *std::move(found);
            if (!outcome) return outcome.error();
            if (const Schedule* schedule = outcome->schedule())
                if (auto obeys = obeys_pins(task.problem.graph, schedule->steps, options_.pins); !obeys)
                    return obeys;
            const auto at =
                std::lower_bound(curve.points.begin(), curve.points.end(), budget,
                                 [](const SweepPoint& point, Bytes bytes) { return point.budget < bytes; });
            SweepPoint& point = *curve.points.insert(at, point_from(budget, outcome.take()));
            offer_found(curve, point);
            if (on_point_) on_point_(curve, point);
        }
        return {};
    }

    void offer_found(const SweepCurve& curve, SweepPoint& point) {
        const SolverTraits& traits = traits_of(curve.solver);
        const bool takes_any = traits.anytime && traits.finds == ScheduleClass::any_order;
        for (const SweepCurve& other : sweep_.curves) {
            if (!takes_any && other.solver != curve.solver) continue;
            if (!may_serve(other.copies, curve.copies)) continue;
            for (const SweepPoint& found : other.points)
                if (is_better(found, point, options_.arena)) take(found, point);
        }
    }

    /// Offers to each point the schedules that were found after the point was solved.
    void settle(SweepCurve& curve) {
        for (SweepPoint& point : curve.points) offer_found(curve, point);
    }

    /// Returns the budget at which another solve gives most information (curve_budgets.h). `turn` decides
    /// which kind of copies is considered first.
    std::optional<Bytes> where_least_is_known(std::size_t turn) const {
        for (std::size_t i = 0; i < kinds_.size(); ++i)
            if (const auto budget = next_budget(samples(kinds_[(turn + i) % kinds_.size()]))) return budget;
        return std::nullopt;
    }

    /// Returns the samples of all curves whose `Copies` setting is `kind`. A bound counts only if it holds
    /// for all schedules that this setting allows.
    std::vector<CurveSample> samples(const Copies& kind) const {
        const ScheduleClass over = class_within(first_problem().graph, kind.what);
        std::vector<CurveSample> all;
        if (smallest_.peak < keep_all_peak(flat_)) {
            all.push_back({.budget = smallest_.peak,
                           .peak = smallest_.peak,
                           .overhead = solution_from(flat_, smallest_.runs).overhead});
        }
        for (const SweepCurve& curve : sweep_.curves) {
            if (curve.copies != kind) continue;
            std::vector<CurveSample> found = curve_samples(curve);
            for (std::size_t i = 0; i < found.size(); ++i) {
                const std::optional<Bound>& bound = curve.points[i].bound;
                if (bound && bound->over != over) found[i].bound = 0;
            }
            all.insert(all.end(), found.begin(), found.end());
        }
        forget_too_small(kind, all);
        return all;
    }

    /// Removes the samples with the smallest budgets, so that no new budget is chosen among them. If weights
    /// must stay on the device, removes the samples below the least peak of all schedules found. If weights
    /// may be offloaded, keeps one more sample: the one with the largest budget that is below this peak and
    /// has no schedule. Removes the samples below it.
    void forget_too_small(const Copies& kind, std::vector<CurveSample>& samples) const {
        std::optional<Bytes> smallest;
        for (const CurveSample& sample : samples)
            if (sample.peak && (!smallest || *sample.peak < *smallest)) smallest = sample.peak;
        if (!smallest) return;
        Bytes from = moves_weights(kind.what) ? Bytes(0) : *smallest;
        for (const CurveSample& sample : samples)
            if (!sample.peak && sample.budget < *smallest) from = std::max(from, sample.budget);
        std::erase_if(samples, [&](const CurveSample& sample) { return sample.budget < from; });
    }

    const FlatGraph& flat_;
    const SweepOptions& options_;
    const OnSweepPoint& on_point_;
    Sweep sweep_;
    std::vector<SweepTask> tasks_;  ///< in the order of the curves
    const std::vector<std::size_t> order_;
    const std::vector<Copies> kinds_;
    std::optional<PinnedStep> pinned_;
    SmallestBudget smallest_;
};

}  // namespace

void add_sweep(const Sweep& sweep, KnownAnswers& known) {
    for (const SweepCurve& curve : sweep.curves)
        for (const SweepPoint& point : curve.points) {
            const Question question{point.budget, curve.copies, sweep.pins};
            if (point.peak.value > 0) known.add_peak(question, point.peak);
            if (point.bound && point.bound->over)
                known.add_bound(question, *point.bound->over, point.bound->overhead);
        }
}

void raise_bounds(const Graph& graph, const KnownAnswers& known, Sweep& sweep) {
    for (SweepCurve& curve : sweep.curves)
        for (SweepPoint& point : curve.points) {
            const auto bound = known.bound({point.budget, curve.copies, sweep.pins});
            if (bound && point.status != "infeasible")
                raise_bound(point, *bound, class_within(graph, curve.copies.what));
        }
}

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

Bytes least_needed(const Problem& problem) {
    if (problem.copies.what == Offload::none) return least_memory(problem.flat).bytes;
    return infeasible_from(problem, Bytes(0), std::nullopt).needed;
}

Bytes smallest_known_budget(const Problem& problem, const Limits& limits) {
    return std::min(smallest_feasible(problem, limits).peak, keep_all_peak(problem.flat));
}

Result<Sweep> run_sweep(const Graph& graph, const SweepOptions& options, const OnSweepPoint& on_point) {
    const FlatGraph flat = flatten(graph);
    Result<std::vector<SweepTask>> tasks = sweep_tasks(graph, flat, options);
    if (!tasks) return tasks.error();
    if (tasks->empty()) return Sweep{graph.name, graph.sha256, {}, options.pins};
    SweepRun sweep(graph, flat, options, tasks.take(), on_point);
    if (!options.pins.empty()) {
        Result<PinnedStep> step = pinned_step(graph, options.pins);
        if (!step) return step.error();
        sweep.obey(step.take());
    }
    return sweep.run();
}

}  // namespace rematlas
