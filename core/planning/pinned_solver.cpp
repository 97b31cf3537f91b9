#include "core/planning/pinned_solver.h"

#include <cmath>
#include <utility>

#include "core/bounds/best_bound.h"
#include "core/bounds/least_memory.h"
#include "core/checking/check_pins.h"
#include "core/schedule/simulate.h"
#include "core/solving/answers.h"
#include "core/solving/ordered_updates.h"

namespace rematlas {
namespace {

constexpr double kShareWithoutCopies = 0.25;  // share of the time for the answer without copies
constexpr auto kLongestPinnedBound = std::chrono::milliseconds(200);
constexpr auto kLongestSearchWithout = std::chrono::milliseconds(500);

class PinnedSolver : public Solver {
  public:
    PinnedSolver(Pins pins, PinnedStep step, std::unique_ptr<Solver> solver)
        : pins_(std::move(pins)), step_(std::move(step)), solver_(std::move(solver)) {}

    std::string_view name() const override { return solver_->name(); }
    bool is_of_one_problem() const override { return true; }

    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override {
        if (problem.copies.what != Offload::none) return with_copies(problem, budget, limits, progress);
        return without_copies(problem, budget, limits, progress);
    }

  private:
    Answer without_copies(const Problem& problem, Bytes budget, const Limits& limits,
                          const Progress& progress) const {
        const ProvenBound bound = proven(budget, limits);
        if (std::isinf(bound.overhead)) return infeasible(problem, budget, limits, {});
        Answer answer =
            solver_->solve({step_.graph, step_.flat}, budget, limits, of_original(problem, progress, bound));
        if (auto* none = std::get_if<Infeasible>(&answer))
            return infeasible(problem, budget, limits, std::move(*none));
        if (step_.exact) return with_bound(problem, std::get<Solution>(std::move(answer)), bound);
        return mapped(problem, budget, limits, std::get<Solution>(std::move(answer)), bound);
    }

    /// Returns the better of the answers without and with copies. The answer without copies gets the share
    /// `kShareWithoutCopies` of the time. The answer with copies counts only if it is a valid schedule of the
    /// original graph that obeys the pins.
    Answer with_copies(const Problem& problem, Bytes budget, const Limits& limits,
                       const Progress& progress) const {
        const Deadline deadline(limits);
        Answer plain = solve_in_order({problem.graph, problem.flat}, *this, budget,
                                      limits.with_time(share_of(limits.time, kShareWithoutCopies)), {});
        Answer answer =
            solver_->solve({step_.graph, step_.flat, problem.copies}, budget,
                           limits.with_time(deadline.left()), step_.exact ? progress : Progress());
        std::optional<Solution> best = played(problem, budget, answer);
        if (auto* other = std::get_if<Solution>(&plain))
            if (!best || other->time <= best->time) best = std::move(*other);
        if (best) return *std::move(best);
        Infeasible none = std::get<Infeasible>(std::move(plain));
        const bool found = std::holds_alternative<Solution>(answer);
        Infeasible over_all = infeasible_from(problem, budget, none.smallest_found);
        over_all.under_pins = none.under_pins;
        over_all.without_pins = none.without_pins;
        over_all.reason = found ? "what the pins ask for was not kept by schedules with copies" : none.reason;
        return over_all;
    }

    /// Translates a solution for the graph under pins to the original graph. Returns nothing if the result is
    /// not valid, exceeds a budget or breaks a pin.
    std::optional<Solution> played(const Problem& problem, Bytes budget, const Answer& answer) const {
        const auto* found = std::get_if<Solution>(&answer);
        if (!found) return std::nullopt;
        Solution solution{.steps = on_original(step_, problem.graph, found->steps), .homes = found->homes};
        const Result<Simulation> play =
            simulate(problem.graph, solution.steps, solution.homes, problem.copies.links);
        if (!play || play->peak > budget || !broken_pins(problem.graph, solution.steps, pins_).empty())
            return std::nullopt;
        if (problem.copies.host_budget && play->host_peak > *problem.copies.host_budget) return std::nullopt;
        solution.time = play->time;
        solution.peak = play->peak;
        solution.overhead = problem.flat.overhead_of(play->time.value);
        return solution;
    }

    ProvenBound proven(Bytes budget, const Limits& limits) const {
        const auto time = std::max(std::min<std::chrono::nanoseconds>(limits.time / 4, kLongestPinnedBound),
                                   limits.bound_time);
        return best_bound(step_.relaxed, budget, {.time = time, .stop = limits.stop});
    }

    /// Returns a function that converts overheads in the solver's reports to overheads of the original step.
    /// The solver's overheads are relative to the step of the graph under pins, which takes longer.
    Progress of_original(const Problem& problem, const Progress& progress, const ProvenBound& bound) const {
        if (step_.exact || !progress) return progress;
        const double longer = problem.flat.overhead_of(step_.flat.base_time),
                     least = problem.flat.overhead_of(bound.time);
        return [&progress, longer, least](const ProgressReport& report) {
            ProgressReport ours = report;
            ours.overhead *= longer;
            ours.bound = least;
            progress(ours);
        };
    }

    Bound bound_from(const Problem& problem, const ProvenBound& bound) const {
        return {.overhead = problem.flat.overhead_of(bound.time),
                .over = ScheduleClass::any_order,
                .seconds = bound.seconds,
                .nodes = bound.nodes};
    }

    Solution with_bound(const Problem& problem, Solution solution, const ProvenBound& bound) const {
        const bool weaker = solution.bound && solution.bound->over == ScheduleClass::any_order &&
                            solution.bound->overhead < problem.flat.overhead_of(bound.time);
        if (!solution.bound || weaker) solution.bound = bound_from(problem, bound);
        return solution;
    }

    Answer mapped(const Problem& problem, Bytes budget, const Limits& limits, Solution found,
                  const ProvenBound& bound) const {
        const auto runs = runs_of(found.steps);
        if (!runs) return infeasible(problem, budget, limits, {.reason = "pins leave no copies to the host"});
        const RunSequence ours = on_original(step_, problem.flat, *runs, budget);
        Solution solution = solution_from(problem.flat, ours);
        if (solution.peak > budget)
            return infeasible(
                problem, budget, limits,
                {.smallest_found = solution.peak, .reason = "what the pins ask for did not fit"});
        solution.status = Status::feasible;
        solution.bound = bound_from(problem, bound);
        return solution;
    }

    /// Makes the answer if no schedule was found. The needed bytes of the answer are proven for every
    /// schedule under the pins.
    Infeasible infeasible(const Problem& problem, Bytes budget, const Limits& limits,
                          Infeasible found) const {
        PeakBound needed = least_memory(step_.relaxed, {.time = std::min<std::chrono::nanoseconds>(
                                                            limits.time / 4, std::chrono::seconds(1)),
                                                        .stop = limits.stop,
                                                        .budget = budget});
        if (!step_.exact || needed.bytes > found.needed) {
            found.needed = needed.bytes;
            found.over = ScheduleClass::any_order;
            found.op = needed.op;
            found.dominant = std::move(needed.tensors);
        }
        found.proven = found.needed > budget;
        to_original(problem, found);
        const Limits quick{.time = std::min<std::chrono::nanoseconds>(limits.time / 4, kLongestSearchWithout),
                           .stop = limits.stop,
                           .seed = limits.seed};
        found.under_pins = smallest_under(step_, problem.flat, quick).peak;
        found.without_pins = smallest_feasible(problem, quick, budget).peak;
        return found;
    }

    void to_original(const Problem& problem, Infeasible& answer) const {
        if (answer.op.valid()) answer.op = step_.op_of[answer.op.index()];
        std::vector<TensorId> dominant;
        for (const TensorId t : answer.dominant) {
            const TensorId ours = step_.tensor_of[t.index()];
            if (ours.valid() && problem.graph.tensors[ours].bytes.value > 0) dominant.push_back(ours);
        }
        answer.dominant = std::move(dominant);
    }

    const Pins pins_;
    const PinnedStep step_;
    const std::unique_ptr<Solver> solver_;
};

}  // namespace

SmallestBudget smallest_under(const PinnedStep& step, const FlatGraph& original, const Limits& limits) {
    SmallestBudget found = smallest_feasible(step.flat, limits);
    if (!step.exact) found.runs = on_original(step, original, found.runs, found.peak);
    found.peak = Bytes(cost_of(original, found.runs).peak);
    return found;
}

Result<std::unique_ptr<Solver>> under_pins(const Graph& graph, const Pins& pins,
                                           std::unique_ptr<Solver> solver) {
    if (pins.empty()) return solver;
    Result<PinnedStep> step = pinned_step(graph, pins);
    if (!step) return step.error();
    return std::unique_ptr<Solver>(std::make_unique<PinnedSolver>(pins, step.take(), std::move(solver)));
}

}  // namespace rematlas
