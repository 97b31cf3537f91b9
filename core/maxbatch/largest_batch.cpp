#include "core/maxbatch/largest_batch.h"

#include <algorithm>
#include <cmath>

#include "core/bounds/one_moment.h"
#include "core/maxbatch/batch_family.h"
#include "core/solvers/solve.h"

namespace rematlas {
namespace {

using Clock = std::chrono::steady_clock;

/// What one graph says about its batch.
struct Verdict {
    std::optional<Schedule> schedule;  ///< within the budget and the overhead
    bool proven = false;               ///< that there is none
    std::optional<Bytes> needs;        ///< every schedule needs more than the budget
    std::optional<double> overhead;    ///< within the budget, but above the overhead
};

class Search {
  public:
    Search(const std::function<Result<Graph>(std::int64_t)>& capture, const LargestBatchOptions& options,
           const BatchProgress& progress, const Solver& solver)
        : capture_(capture),
          options_(options),
          progress_(progress),
          solver_(solver),
          end_(Clock::now() + options.limits.time) {}

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
    static constexpr std::int64_t unknown = std::int64_t{1} << 40;
    static constexpr int most_forecasts = 4;

    bool stopped() const { return options_.limits.stop.stop_requested(); }

    /// Models with BatchNorm often refuse a batch of one, so 2 comes first.
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
        Result<Verdict> verdict = judge(*graph, share(8));
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
        best_.next_overhead = next_.overhead;
    }

    /// Inside (best, too large), so that each capture narrows the search.
    std::int64_t next_batch() {
        const std::int64_t low = best_.batch, high = std::min(too_large_, options_.most + 1);
        const std::int64_t blind =
            too_large_ == unknown ? std::min(2 * low, high - 1) : low + (high - low) / 2;
        if (best_.captured.size() < 2 || forecasts_++ >= most_forecasts) return blind;
        const std::optional<std::int64_t> foretold = forecast(low, high, [&](const Graph& graph) {
            const Result<Verdict> verdict = judge(graph, share(60));
            return verdict && verdict->schedule;
        });
        if (!foretold) return blind;
        // "None larger": one more is captured to see it.
        return std::max(*foretold, low + 1);
    }

    /// The largest batch in [low, high) whose foretold graph fits, `low` if none larger does; nothing when a
    /// graph cannot be foretold.
    template <class Fits>
    std::optional<std::int64_t> forecast(std::int64_t low, std::int64_t high, Fits&& fits) const {
        std::int64_t good = low, bad = high;
        for (std::int64_t step = 1; good + 1 < bad; step *= 2) {
            // Doubling steps until the first that fails, then halves of what is left.
            const std::int64_t tried =
                bad == high ? std::min(good + step, high - 1) : good + (bad - good) / 2;
            const std::optional<Graph> graph = family_.graph_at(tried);
            if (!graph) return std::nullopt;
            (fits(*graph) ? good : bad) = tried;
        }
        return good;
    }

    std::chrono::nanoseconds share(int of) const {
        return std::max<std::chrono::nanoseconds>(options_.limits.time / of, std::chrono::milliseconds(50));
    }

    bool good_enough(double overhead) const {
        return overhead <= options_.max_overhead.value_or(INFINITY) * (1 + 1e-12);
    }

    /// Ends with the first schedule that is good enough.
    Result<Verdict> judge(const Graph& graph, std::chrono::nanoseconds time) const {
        const FlatGraph flat = flatten(graph);
        Verdict verdict;
        if (least_peak(flat).bytes > options_.budget) {
            verdict.proven = true;
            verdict.needs = least_peak(flat).bytes;
            return verdict;
        }
        std::stop_source enough;
        const std::stop_callback outer(options_.limits.stop, [&] { enough.request_stop(); });
        Limits limits = options_.limits;
        limits.time = time;
        limits.stop = enough.get_token();
        const Problem problem{graph, flat};
        Result<Outcome> outcome =
            solve(problem, solver_, options_.budget, limits, [&](const Incumbent& found) {
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
            const OverheadBound bound = overhead_lower_bound(flat, options_.budget);
            verdict.proven = !good_enough(bound.overhead);
            verdict.overhead = verdict.proven ? bound.overhead : schedule.overhead;
        }
        return verdict;
    }

    /// The rest of the time goes to a better schedule for the batch that was found.
    Result<void> polish() {
        Limits limits = options_.limits;
        limits.time = std::max<std::chrono::nanoseconds>(
            std::min<std::chrono::nanoseconds>(end_ - Clock::now(), share(4)), std::chrono::milliseconds(50));
        const FlatGraph flat = flatten(best_.graph);
        Result<Outcome> outcome = solve(Problem{best_.graph, flat}, solver_, options_.budget, limits);
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
    Clock::time_point end_;
    BatchFamily family_;
    LargestBatch best_;
    Verdict next_;  ///< of `too_large_`
    std::int64_t too_large_ = unknown;
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
    return Search(capture, options, progress, **solver).run();
}

}  // namespace rematlas
