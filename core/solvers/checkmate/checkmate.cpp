#include "core/solvers/checkmate/checkmate.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/milp/milp_thread.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/atlas/atlas.h"
#include "core/solvers/staged/staged_model.h"
#include "core/solving/answers.h"
#include "core/solving/incumbent.h"
#include "core/solving/library_option.h"
#include "core/solving/limits.h"
#include "core/solving/option_reader.h"

namespace rematlas {
namespace {

constexpr auto kLongestWarmUp = std::chrono::seconds(2);

class CheckmateSearch {
  public:
    CheckmateSearch(const Problem& problem, Bytes budget, const Limits& limits,
                    const CheckmateOptions& options, const Progress& progress)
        : problem_(problem),
          budget_(budget),
          limits_(limits),
          options_(options),
          progress_(progress),
          deadline_(limits),
          best_(problem.flat, budget, deadline_, progress) {}

    Answer run() {
        warm_up();
        if (!proven_ && StagedModel::fits(problem_.flat) && !deadline_.passed()) solve();
        return best_.answer();
    }

  private:
    /// Returns the time for finding a schedule to start from. The time is longer for a large integer program,
    /// because its own search does not get far.
    std::chrono::nanoseconds warm_up_time() const {
        const auto share = share_of(limits_.time, options_.warm_up);
        const bool large = required_once(problem_.flat).size() > kLargeProgramme;
        return large ? share * 5 : std::min<std::chrono::nanoseconds>(kLongestWarmUp, share);
    }

    void warm_up() {
        std::stop_source close;
        const std::stop_callback outer(limits_.stop, [&] { close.request_stop(); });
        Limits limits = limits_.with_time(warm_up_time());
        limits.gap = options_.gap;
        limits.stop = close.get_token();
        const Answer start = make_atlas()->solve(problem_, budget_, limits, [&](const ProgressReport& found) {
            if (progress_) progress_({found.overhead, found.peak, found.bound, deadline_.fraction()});
            if (found.bound && found.overhead <= *found.bound * (1 + options_.gap)) close.request_stop();
        });
        if (const auto* found = std::get_if<Solution>(&start)) {
            if (found->bound) {
                best_.raise_bound(found->bound->overhead, ScheduleClass::any_order);
                best_.add_bound_work(found->bound->seconds, found->bound->nodes);
            }
            best_.offer_solution(*found);
            proven_ = best_.is_proven(options_.gap);
        } else {
            const Infeasible& none = std::get<Infeasible>(start);
            if (none.smallest_found) best_.note_peak(*none.smallest_found);
            proven_ = none.proven;
        }
    }

    void solve() {
        const FlatGraph& graph = problem_.flat;
        const auto begin = std::chrono::steady_clock::now();
        StagedModelOptions interest{.stop = limits_.stop};
        if (best_.fits()) interest.below = best_.best().time;
        const auto model = std::make_shared<const StagedModel>(graph, budget_.value, interest);
        std::vector<double> start;
        if (best_.fits())
            if (auto point = model->encode(best_.best().runs)) start = *std::move(point);
        // The library's gap is a share of the objective. The gap of the options is a share of the bound, and
        // the bound is rounded down, so the library gets a smaller gap.
        const double gap = std::max(0.0, options_.gap / (1 + options_.gap) - 2 * kBoundRounding);
        MilpLimits limits{.relative_gap = gap, .threads = limits_.threads, .seed = limits_.seed};
        limits.time = deadline_.left();
        // This pointer shares ownership of the whole model.
        const std::shared_ptr<const MilpModel> milp(model, &model->milp());
        MilpThread thread(options_.library, milp, limits, std::move(start));
        watch(thread, *model);
        best_.add_bound_work(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
                             nodes_);
    }

    void watch(MilpThread& thread, const StagedModel& model) {
        while (!deadline_.passed()) {
            const MilpThread::News now = thread.news(kGlance);
            nodes_ = now.nodes;
            const bool raised = raise_bound(model, now.bound);
            for (const std::vector<double>& values : now.incumbents) best_.offer_runs(model.decode(values));
            if (now.answer) return conclude(model, *now.answer);
            if (raised) best_.report();
        }
    }

    /// Raises the bound for the class of the model, but at most to the overhead of the best schedule, because
    /// the model need not contain slower schedules.
    bool raise_bound(const StagedModel& model, double objective) {
        if (!std::isfinite(objective)) return false;
        const double base = double(std::max<std::int64_t>(problem_.flat.base_time, 1));
        // Times are integers, so the bound can be rounded up.
        double bound = std::ceil(model.time_of(objective) * (1 - kBoundRounding)) / base;
        if (best_.fits()) bound = std::min(bound, best_.overhead());
        if (bound <= best_.bound().value_or(0)) return false;
        best_.raise_bound(bound, ScheduleClass::staged);
        return true;
    }

    void conclude(const StagedModel& model, const Result<MilpAnswer>& answer) {
        if (!answer) return;
        if (!answer->values.empty()) best_.offer_runs(model.decode(answer->values));
        if (answer->status != MilpStatus::infeasible)
            raise_bound(model, answer->bound);
        else if (best_.fits())  // no schedule in the class is better than the start
            best_.raise_bound(best_.overhead(), ScheduleClass::staged);
        best_.report();
    }

    const Problem& problem_;
    const Bytes budget_;
    const Limits& limits_;
    const CheckmateOptions& options_;
    const Progress& progress_;
    const Deadline deadline_;
    Incumbent best_;
    bool proven_ = false;  ///< whether the integer program is not needed: the warm-up proved its answer
    std::optional<std::int64_t> nodes_;  ///< nodes of the branch and bound
};

Answer solve_by_checkmate(const Problem& problem, Bytes budget, const Limits& limits,
                          const Progress& progress, const CheckmateOptions& options) {
    if (auto solution = optimal_without_reruns(problem.flat, budget)) return *std::move(solution);
    return CheckmateSearch(problem, budget, limits, options, progress).run();
}

}  // namespace

void read_options(OptionReader& reader, CheckmateOptions& options) {
    reader.number("gap", options.gap, 0, 1);
    reader.number("warm_up", options.warm_up, 0, 1);
    read_library(reader, options.library);
}

std::unique_ptr<Solver> make_checkmate(const CheckmateOptions& options) {
    return std::make_unique<FunctionSolver<CheckmateOptions>>(checkmate_solver, solve_by_checkmate, options);
}

constinit const SolverEntry checkmate_solver = solver_entry<CheckmateOptions, make_checkmate>(
    {.name = "checkmate",
     .summary = "mixed-integer programme over stages, optimal for the graph's order; of use up to about 200 "
                "ops, beyond 600 it gives its start, by atlas",
     .least_peak = true});

}  // namespace rematlas
