#include "core/solvers/checkmate/least_peak_within.h"

#include <algorithm>
#include <cmath>

#include "core/bounds/best_bound.h"
#include "core/bounds/least_memory.h"
#include "core/bounds/one_moment.h"
#include "core/milp/milp_thread.h"
#include "core/solvers/atlas/atlas.h"
#include "core/solvers/atlas/smallest_budget.h"
#include "core/solvers/staged/staged_model.h"
#include "core/solving/limits.h"

namespace rematlas {
namespace {

// Times of the parts of the search, as shares of the time that is left when the part begins.
constexpr double kStart = 0.15;        // for the schedule from which the integer program starts
constexpr double kStartOfLarge = 0.4;  // for this schedule if the integer program is large
constexpr double kProof = 0.15;        // for a bound for any order of the ops

constexpr double kPrecision = 1e-3;  // precision of the bisection, as a share of its first interval
// The search for the schedule to start from may take at most this time multiplied by ops^2.
constexpr auto kMostStartForTwoOps = std::chrono::microseconds(500);
constexpr int kRounds = 10;  // approximate limit on the calls of atlas

class LeastPeakSearch {
  public:
    LeastPeakSearch(const Problem& problem, Nanoseconds most_time, const Limits& limits,
                    const LeastPeakOptions& options)
        : problem_(problem),
          graph_(problem.flat),
          most_time_(most_time.value),
          limits_(limits),
          options_(options),
          deadline_(limits) {}

    Result<LeastPeak> run() {
        if (Result<void> built = has_milp(options_.library); !built) return built.error();
        if (!offer(required_once(graph_)))
            return Error{"the step without recomputation takes more time than is allowed"};
        offer(options_.start);
        const bool fits = StagedModel::fits(graph_);
        bound_any_order(Deadline(within(kStart / 3)));
        search(Deadline(fits ? start() : within(1 - kProof)));
        if (!ended()) prove(fits ? kProof : 1);
        if (fits && !ended() && !deadline_.passed()) solve();
        best_.bound = Bytes(bound_);
        if (tight()) best_.status = Status::optimal;
        return std::move(best_);
    }

  private:
    /// Returns the limits of the search for the schedule to start from. This search gets more time if the
    /// integer program is larger, because the program then takes more time, too.
    Limits start() const {
        const std::size_t ops = required_once(graph_).size();
        Limits limits = within(ops > kLargeProgramme ? kStartOfLarge : kStart);
        limits.time = std::min<std::chrono::nanoseconds>(limits.time, kMostStartForTwoOps * (ops * ops));
        return limits;
    }

    Limits within(double share) const { return limits_.with_time(share_of(deadline_.left(), share)); }

    bool offer(RunSequence runs) {
        if (!is_executable(graph_, runs)) return false;
        const SequenceCost cost = cost_of(graph_, runs);
        if (cost.time > most_time_ || (!best_.runs.empty() && cost.peak >= best_.peak.value)) return false;
        best_.runs = std::move(runs);
        best_.peak = Bytes(cost.peak);
        best_.time = Nanoseconds(cost.time);
        return true;
    }

    bool tight() const {
        const auto room = static_cast<double>(best_.peak.value - graph_.resident_bytes);
        return static_cast<double>(best_.peak.value - bound_) <= options_.gap * room;
    }

    bool ended() const {
        const bool decided = options_.budget && (bound_ > options_.budget->value ||
                                                 (options_.first && best_.peak <= *options_.budget));
        return decided || tight();
    }

    /// Bisects for a bound on the peak: the least budget at which the bound on the overhead (for any order of
    /// ops) does not exclude a schedule within the time.
    void bound_any_order(const Deadline& deadline) {
        bound_ = least_memory(graph_, {.time = deadline.left() / kRounds, .stop = limits_.stop}).bytes.value;
        std::int64_t open = best_.peak.value;
        const auto most = static_cast<double>(most_time_) * (1 + 1e-9);
        const double precision = kPrecision * static_cast<double>(open - bound_);
        while (static_cast<double>(open - bound_) > precision && !deadline.passed()) {
            const std::int64_t tried = bound_ + (open - bound_) / 2;
            const OverheadBound least = overhead_lower_bound(
                graph_, Bytes(tried), {.time = deadline.left() / kRounds, .stop = limits_.stop});
            if (least.overhead * static_cast<double>(graph_.base_time) > most)
                bound_ = tried + 1;
            else
                open = tried;
        }
        best_.any_order = Bytes(bound_);
    }

    /// Searches for small peaks. First looks for the smallest peak without regard to the time. Then runs
    /// atlas at the budget of the options, and at budgets between the best peak and the largest budget that
    /// failed.
    void search(const Deadline& deadline) {
        if (ended()) return;
        Limits share = limits_.with_time(deadline.left() / 8);
        offer(smallest_feasible(graph_, share, options_.first ? *options_.budget : Bytes(0)).runs);
        const std::chrono::nanoseconds round = deadline.left() / kRounds;
        std::int64_t failed = bound_ - 1, tried = bound_;
        const double precision = options_.gap * static_cast<double>(best_.peak.value - failed);
        while (!ended() && !deadline.passed() && static_cast<double>(best_.peak.value - failed) > precision) {
            const bool useless = options_.budget && best_.peak > *options_.budget;
            if (useless) tried = options_.budget->value;
            share.time = useless ? deadline.left() : round;
            const bool found = atlas_at(Bytes(tried), share);
            if (useless && !found) break;
            if (!found) failed = tried;
            tried = failed + (best_.peak.value - failed) / 2;
        }
    }

    /// Tries to prove, for any order of ops, that no schedule fits the budget of the options, or that the
    /// best peak is within the gap.
    void prove(double share) {
        const auto room = static_cast<double>(best_.peak.value - graph_.resident_bytes);
        const std::int64_t better = best_.peak.value - 1 - static_cast<std::int64_t>(options_.gap * room);
        const std::int64_t tried = std::min(options_.budget.value_or(best_.peak).value, better);
        BestBoundLimits limits{.time = within(share).time, .stop = limits_.stop};
        if (most_time_ < limits.known) limits.known = most_time_ + 1;
        const ProvenBound bound = best_bound(graph_, Bytes(tried), limits);
        offer(bound.runs);
        if (bound.time <= most_time_ && std::isfinite(bound.overhead)) return;
        raise_to(tried + 1);
        best_.any_order = Bytes(bound_);
    }

    bool atlas_at(Bytes budget, Limits limits) {
        std::stop_source enough;
        const std::stop_callback outer(limits_.stop, [&] { enough.request_stop(); });
        limits.stop = enough.get_token();
        const auto most = static_cast<double>(most_time_) /
                          static_cast<double>(std::max<std::int64_t>(graph_.base_time, 1));
        const Answer answer = make_atlas()->solve(problem_, budget, limits, [&](const ProgressReport& found) {
            if (found.peak <= budget && found.overhead <= most) enough.request_stop();
            if (found.bound && *found.bound > most * (1 + 1e-9)) enough.request_stop();
        });
        const auto* found = std::get_if<Solution>(&answer);
        if (!found) return false;
        std::optional<RunSequence> runs = runs_of(found->steps);
        return runs && offer(*std::move(runs));
    }

    void solve() {
        const std::int64_t known = std::min(best_.peak, options_.budget.value_or(best_.peak)).value;
        const auto model = std::make_shared<const StagedModel>(
            graph_, known, StagedModelOptions{.most_time = most_time_, .stop = limits_.stop});
        std::vector<double> start;
        if (known >= best_.peak.value)
            if (auto point = model->encode(best_.runs)) start = *std::move(point);
        MilpLimits limits{.relative_gap = std::max(0.0, options_.gap - 2 * kBoundRounding),
                          .threads = limits_.threads,
                          .seed = limits_.seed};
        limits.time = deadline_.left();
        // This pointer shares ownership of the whole model.
        MilpThread thread(options_.library, std::shared_ptr<const MilpModel>(model, &model->milp()), limits,
                          std::move(start));
        while (!deadline_.passed() && !ended()) {
            const MilpThread::News now = thread.news(kGlance);
            for (const std::vector<double>& values : now.incumbents) offer(model->decode(values));
            raise_bound(*model, now.bound);
            if (now.answer) return conclude(*model, known, *now.answer);
        }
    }

    void conclude(const StagedModel& model, std::int64_t known, const Result<MilpAnswer>& answer) {
        if (!answer) return;
        best_.nodes = answer->nodes;
        if (!answer->values.empty()) offer(model.decode(answer->values));
        if (answer->status == MilpStatus::infeasible)
            raise_to(known + 1);
        else
            raise_bound(model, answer->bound);
    }

    void raise_bound(const StagedModel& model, double objective) {
        if (!std::isfinite(objective)) return;
        const double room = model.peak_of(objective) - static_cast<double>(graph_.resident_bytes);
        raise_to(graph_.resident_bytes + static_cast<std::int64_t>(std::ceil(room * (1 - kBoundRounding))));
    }

    /// Raises the bound to `bytes`, but at most to the best peak, because the model need not contain
    /// schedules with larger peaks. First rounds `bytes` up to the next peak that a schedule can have.
    void raise_to(std::int64_t bytes) {
        const std::int64_t unit = StagedModel::byte_unit(graph_),
                           over = (bytes - graph_.resident_bytes) % unit;
        if (over > 0) bytes += unit - over;
        bound_ = std::max(bound_, std::min(bytes, best_.peak.value));
    }

    const Problem& problem_;
    const FlatGraph& graph_;
    const std::int64_t most_time_;
    const Limits& limits_;
    const LeastPeakOptions& options_;
    const Deadline deadline_;
    LeastPeak best_;
    std::int64_t bound_ = 0;
};

}  // namespace

Result<LeastPeak> least_peak_within(const Problem& problem, Nanoseconds most_time, const Limits& limits,
                                    const LeastPeakOptions& options) {
    return LeastPeakSearch(problem, most_time, limits, options).run();
}

}  // namespace rematlas
