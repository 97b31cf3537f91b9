#include "core/planning/largest_batch.h"

#include <algorithm>
#include <cmath>

#include "core/bounds/least_memory.h"
#include "core/bounds/one_moment.h"
#include "core/planning/batch_family.h"
#include "core/planning/registry.h"
#include "core/planning/request.h"
#include "core/planning/solve.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/checkmate/least_peak_within.h"
#include "core/solving/answers.h"

namespace rematlas {
namespace {

using Clock = std::chrono::steady_clock;

/// The result of judging one graph.
struct Verdict {
    std::optional<Schedule> schedule;  ///< within the budget and the overhead limit, if one was found
    bool proven = false;               ///< whether it is proven that no schedule is within both limits
    std::optional<Bytes> needs;        ///< bytes that every schedule needs, if more than the budget
    std::optional<double> overhead;  ///< least overhead proven or found within the budget, if above the limit
    /// The bytes that every schedule of Checkmate's class within the overhead limit needs, if they are more
    /// than the budget.
    std::optional<Bytes> needs_in_class;
};

class BatchSearch {
  public:
    BatchSearch(const std::function<Result<Graph>(std::int64_t)>& capture, const LargestBatchOptions& options,
                const BatchProgress& progress, const Solver& solver)
        : capture_(capture),
          options_(options),
          progress_(progress),
          solver_(solver),
          by_least_peak_(traits_of(options.solver).least_peak),
          left_(options.limits.time - options.limits.time / kPolishPart) {}

    Result<LargestBatch> run() {
        if (Result<void> started = start(); !started) return started.error();
        if (best_.batch == 0) return std::move(best_);
        while (too_large_ > best_.batch + 1 && !stopped()) {
            if (best_.batch == options_.most) {
                best_.at_most = true;
                break;
            }
            if (Result<bool> tried = try_batch(next_batch()); !tried) return tried.error();
        }
        if (too_large_ == best_.batch + 1) tell_next();
        best_.without_recomputation = forecast(0, best_.batch + 1, [&](const Graph& graph) {
            return keep_all_peak(flatten(graph)) <= options_.budget;
        });
        if (Result<void> polished = polish(); !polished) return polished.error();
        return std::move(best_);
    }

  private:
    static constexpr std::int64_t kUnknown = std::int64_t{1} << 40;
    static constexpr int kMostForecasts = 4;
    static constexpr int kPolishPart = 4;  ///< 1 / kPolishPart of the time is reserved for `polish`

    /// Measures its own lifetime and subtracts it from the time that is left.
    class Spending {
      public:
        explicit Spending(std::chrono::nanoseconds& left) : left_(left) {}
        ~Spending() { left_ -= Clock::now() - start_; }
        Spending(const Spending&) = delete;
        Spending& operator=(const Spending&) = delete;

      private:
        std::chrono::nanoseconds& left_;
        const Clock::time_point start_ = Clock::now();
    };

    /// Returns the whole time divided by `of`, but at most the time that is left divided by `of_left`. So any
    /// number of these shares together stays within the time limit.
    std::chrono::nanoseconds share_of_left(int of, int of_left) const {
        return std::max<std::chrono::nanoseconds>(std::min(share(of), left_ / of_left),
                                                  std::chrono::nanoseconds(0));
    }

    bool stopped() const { return options_.limits.stop.stop_requested(); }

    /// Tries the first batch. Models with BatchNorm often refuse a batch of 1, so 2 is tried first.
    Result<void> start() {
        const Result<bool> two = try_batch(std::min<std::int64_t>(2, options_.most));
        if (!two) return two.error();
        if (*two || options_.most == 1) return {};
        const Result<bool> one = try_batch(1);
        if (one) return {};
        return Error{"a batch of 2 does not fit, one of 1 fails: " + one.error().message};
    }

    Result<bool> try_batch(std::int64_t batch) {
        tell(batch, BatchEvent::capturing);
        Result<Graph> graph = capture_(batch);
        if (!graph) return graph.error();
        best_.captured.push_back(batch);
        Result<Verdict> verdict = judge(*graph, share_of_left(8, 4));
        if (!verdict) return verdict.error();
        family_.add(batch, *graph);
        const bool fits = verdict->schedule.has_value();
        tell(batch, fits ? BatchEvent::fits : BatchEvent::too_large);
        if (fits) {
            best_.batch = batch;
            best_.schedule = std::move(verdict->schedule);
            best_.graph = graph.take();
        } else {
            too_large_ = batch;
            next_ = std::move(*verdict);
            if (batch == 1) {
                best_.graph = graph.take();
                tell_next();
            }
        }
        return fits;
    }

    void tell(std::int64_t batch, BatchEvent event) const {
        if (progress_) progress_(batch, event);
    }

    void tell_next() {
        best_.proven = next_.proven;
        best_.next_needs = next_.needs;
        best_.next_needs_in_class = next_.needs_in_class;
        best_.next_overhead = next_.overhead;
    }

    /// Chooses the next batch to capture. It is between the largest batch that fits and the smallest batch
    /// that is known to be too large, so that each capture narrows the search.
    std::int64_t next_batch() {
        const std::int64_t low = best_.batch, high = std::min(too_large_, options_.most + 1);
        const std::int64_t blind =
            too_large_ == kUnknown ? std::min(2 * low, high - 1) : low + (high - low) / 2;
        if (best_.captured.size() < 2 || forecasts_++ >= kMostForecasts) return blind;
        const std::optional<std::int64_t> foretold =
            by_least_peak_ ? forecast_by_least_peak(low, high) : forecast(low, high, [&](const Graph& graph) {
                const Result<Verdict> verdict = judge(graph, share_of_left(60, 16));
                return verdict && verdict->schedule;
            });
        if (!foretold) return blind;
        // If the prediction says that no larger batch fits, the next larger batch is captured to make sure.
        return std::max(*foretold, low + 1);
    }

    /// Returns the largest batch in [low, high) whose predicted graph fits; `low` if no larger batch fits.
    /// Returns nothing if a graph cannot be predicted.
    template <class Fits>
    std::optional<std::int64_t> forecast(std::int64_t low, std::int64_t high, Fits&& fits) const {
        std::int64_t good = low, bad = high;
        for (std::int64_t step = 1; good + 1 < bad; step *= 2) {
            // The steps double until the first batch that does not fit. Then the search bisects.
            const std::int64_t tried =
                bad == high ? std::min(good + step, high - 1) : good + (bad - good) / 2;
            const std::optional<Graph> graph = family_.graph_at(tried);
            if (!graph) return std::nullopt;
            (fits(*graph) ? good : bad) = tried;
        }
        return good;
    }

    /// Like `forecast`, but uses Dinkelbach's method. At the first batch at which `runs_` no longer fits the
    /// budget, a search for the least peak gives other runs. If these do not fit either, the prediction for
    /// this batch is not repeated, and its capture decides.
    std::optional<std::int64_t> forecast_by_least_peak(std::int64_t low, std::int64_t high) {
        std::optional<std::int64_t> good = largest_for(runs_, low, high);
        while (good && *good + 1 < high && *good + 1 != hopeless_ && !stopped()) {
            const std::optional<Graph> graph = family_.graph_at(*good + 1);
            if (!graph) return std::nullopt;
            const FlatGraph flat = flatten(*graph);
            Result<LeastPeak> least = least_peak_of({*graph, flat}, false);
            if (!least || least->peak > options_.budget) {
                hopeless_ = *good + 1;
            } else {
                runs_ = std::move(least->runs);
                good = largest_for(runs_, *good + 1, high);
            }
        }
        return good;
    }

    /// Returns the largest batch in [low, high) at which `runs` keeps the budget and the time limit; `low` if
    /// no larger batch does. Returns nothing if a graph cannot be predicted, or if `runs` is not executable
    /// on it.
    std::optional<std::int64_t> largest_for(const RunSequence& runs, std::int64_t low,
                                            std::int64_t high) const {
        bool foreign = false;
        const auto largest = forecast(low, high, [&](const Graph& graph) {
            const FlatGraph flat = flatten(graph);
            foreign = foreign || !is_executable(flat, runs);
            if (foreign) return false;
            const SequenceCost cost = cost_of(flat, runs);
            return cost.peak <= options_.budget.value && cost.time <= most_time(flat).value;
        });
        return foreign ? std::nullopt : largest;
    }

    Nanoseconds most_time(const FlatGraph& graph) const {
        if (!options_.max_overhead) return Nanoseconds(std::numeric_limits<std::int64_t>::max());
        const double most = *options_.max_overhead * (1 + 1e-12) * static_cast<double>(graph.base_time);
        return Nanoseconds(static_cast<std::int64_t>(std::min(most, 0x1p62)));
    }

    /// Searches for the least peak. If `first` is set, the search ends with the first schedule that fits.
    Result<LeastPeak> least_peak_of(const Problem& problem, bool first) {
        Limits limits = options_.limits;
        limits.time = std::max<std::chrono::nanoseconds>(std::min(share(6), left_ / 3), share(600));
        const Spending spending(left_);
        return least_peak_within(problem, most_time(problem.flat), limits,
                                 {.budget = options_.budget, .first = first, .start = runs_});
    }

    /// Judges the graph with the form of Checkmate's integer program that minimizes the peak.
    Result<Verdict> judge_by_least_peak(const Graph& graph, const FlatGraph& flat) {
        const Problem problem{graph, flat};
        Result<LeastPeak> least = least_peak_of(problem, true);
        if (!least) return least.error();
        Verdict verdict;
        if (least->peak <= options_.budget) {
            runs_ = least->runs;
            Result<Schedule> schedule = checked(problem, solution_from(flat, least->runs), options_.solver,
                                                options_.budget, options_.limits);
            if (!schedule) return schedule.error();
            verdict.schedule = schedule.take();
            return verdict;
        }
        verdict.proven = least->any_order > options_.budget;
        if (least->bound > options_.budget) verdict.needs_in_class = least->bound;
        if (verdict.proven && !options_.max_overhead) verdict.needs = least->any_order;
        if (verdict.proven && options_.max_overhead) {
            const OverheadBound bound = overhead_lower_bound(flat, options_.budget);
            if (!good_enough(bound.overhead) && std::isfinite(bound.overhead))
                verdict.overhead = bound.overhead;
        }
        return verdict;
    }

    std::chrono::nanoseconds share(int of) const {
        return std::max<std::chrono::nanoseconds>(options_.limits.time / of, std::chrono::milliseconds(50));
    }

    bool good_enough(double overhead) const {
        return overhead <= options_.max_overhead.value_or(INFINITY) * (1 + 1e-12);
    }

    /// Returns the bytes that every schedule without copies needs, if they are proven to be more than the
    /// budget.
    std::optional<Bytes> more_than_budget(const FlatGraph& flat, std::chrono::nanoseconds time) {
        const Spending spending(left_);
        const PeakBound least = least_memory(
            flat,
            {.time = time, .stop = options_.limits.stop, .budget = options_.budget, .only_budget = true});
        return least.bytes > options_.budget ? std::optional(least.bytes) : std::nullopt;
    }

    /// Judges whether the graph has a schedule within the budget and the overhead limit. The search ends with
    /// the first such schedule.
    Result<Verdict> judge(const Graph& graph, std::chrono::nanoseconds time) {
        const FlatGraph flat = flatten(graph);
        const Result<Copies> copies = copies_for(graph, options_.solver, options_.copies);
        if (!copies) return copies.error();
        const Problem problem{graph, flat, *copies};
        if (copies->what == Offload::none) {
            if (const auto needed = more_than_budget(flat, time / 8)) {
                Verdict verdict;
                verdict.proven = true;
                verdict.needs = needed;
                if (by_least_peak_) verdict.needs_in_class = needed;
                return verdict;
            }
        }
        if (by_least_peak_) return judge_by_least_peak(graph, flat);
        const Spending spending(left_);
        Verdict verdict;
        std::stop_source enough;
        const std::stop_callback outer(options_.limits.stop, [&] { enough.request_stop(); });
        Limits limits = options_.limits;
        limits.time = time;
        limits.stop = enough.get_token();
        Result<Outcome> outcome =
            solve(problem, solver_, options_.budget, limits, [&](const ProgressReport& found) {
                if (found.peak <= options_.budget && good_enough(found.overhead)) enough.request_stop();
            });
        if (!outcome) return outcome.error();
        if (const Infeasible* none = outcome->infeasible()) {
            verdict.proven = none->proven;
            if (none->needed > options_.budget) verdict.needs = none->needed;
            return verdict;
        }
        Schedule& schedule = std::get<Schedule>(outcome->answer);
        if (good_enough(schedule.overhead)) {
            verdict.schedule = std::move(schedule);
        } else {
            const double bound = least_overhead(problem, schedule);
            verdict.proven = !good_enough(bound);
            verdict.overhead = verdict.proven ? bound : schedule.overhead;
        }
        return verdict;
    }

    /// Returns a lower bound on the overhead of all schedules that copy no more than the problem allows.
    double least_overhead(const Problem& problem, const Schedule& schedule) const {
        if (problem.copies.what == Offload::none)
            return overhead_lower_bound(problem.flat, options_.budget).overhead;
        return schedule.bound ? schedule.bound->overhead : 0;
    }

    /// Looks for a better schedule for the batch that was found, in the time that is reserved for this. If
    /// the search for the batch took too long, the reserved time is shorter by the excess.
    Result<void> polish() {
        Limits limits = options_.limits;
        constexpr std::chrono::nanoseconds kNone(0);
        limits.time = std::max(kNone, options_.limits.time / kPolishPart + std::min(left_, kNone));
        const FlatGraph flat = flatten(best_.graph);
        const Result<Copies> copies = copies_for(best_.graph, options_.solver, options_.copies);
        if (!copies) return copies.error();
        Result<Outcome> outcome =
            solve(Problem{best_.graph, flat, *copies}, solver_, options_.budget, limits);
        if (!outcome) return outcome.error();
        if (auto* better = std::get_if<Schedule>(&outcome->answer);
            better && better->overhead <= best_.schedule->overhead)
            best_.schedule = std::move(*better);
        return {};
    }

    const std::function<Result<Graph>(std::int64_t)>& capture_;
    const LargestBatchOptions& options_;
    const BatchProgress& progress_;
    const Solver& solver_;
    const bool by_least_peak_;
    /// Time left for the search before `polish`; negative if solvers took longer.
    std::chrono::nanoseconds left_;
    RunSequence runs_;           ///< the last runs that a search for the least peak found within the budget
    std::int64_t hopeless_ = 0;  ///< batch at which the least peak of the predicted graph is too large
    BatchFamily family_;
    LargestBatch best_;
    Verdict next_;  ///< the verdict on the batch `too_large_`
    std::int64_t too_large_ = kUnknown;
    int forecasts_ = 0;
};

}  // namespace

Result<LargestBatch> largest_batch(const std::function<Result<Graph>(std::int64_t)>& capture,
                                   const LargestBatchOptions& options, const BatchProgress& progress) {
    if (options.max_overhead && !(*options.max_overhead >= 1))
        return Error{"the most overhead allowed is at least 1"};
    if (options.most < 1) return Error{"the largest batch to try is at least 1"};
    Result<std::unique_ptr<Solver>> solver = make_solver(options.solver);
    if (!solver) return solver.error();
    return BatchSearch(capture, options, progress, options.asked ? *options.asked : **solver).run();
}

}  // namespace rematlas
