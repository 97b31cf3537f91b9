#include "core/solvers/checkmate/checkmate.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/milp/milp_thread.h"
#include "core/solvers/atlas/atlas.h"
#include "core/solvers/checkmate/best_found.h"
#include "core/solvers/checkmate/library_option.h"
#include "core/solvers/checkmate/staged_model.h"
#include "core/solvers/deadline.h"
#include "core/solvers/option_reader.h"
#include "core/solvers/required_once.h"

namespace rematlas {
namespace {

constexpr auto kLongestWarmUp = std::chrono::seconds(2);
constexpr std::size_t kLarge = 120;  // ops

class Search {
  public:
    Search(const Problem& problem, Bytes budget, const Limits& limits, const CheckmateOptions& options,
           const Progress& progress)
        : problem_(problem),
          budget_(budget),
          limits_(limits),
          options_(options),
          progress_(progress),
          deadline_(limits),
          best_(problem.flat, budget) {}

    Answer run() {
        warm_up();
        if (!proven_ && StagedModel::fits(problem_.flat) && !deadline_.passed()) solve();
        if (!best_.any()) return infeasible_from(problem_.flat, budget_, smallest_);
        Solution solution = solution_from(problem_.flat, best_.runs());
        if (std::optional<Bound> best = bound(solution.overhead)) solution.bound = *std::move(best);
        if (solution.bound && solution.overhead <= solution.bound->overhead * (1 + options_.gap))
            solution.status = Status::optimal;
        return solution;
    }

  private:
    /// The better one, that of the larger class where they are equal.
    std::optional<Bound> bound(double overhead) const {
        std::optional<Bound> best = any_order_;
        if (bound_ > 0 && (!best || bound_ > best->overhead)) best = Bound{bound_, 0, kStagedClass};
        if (!best) return std::nullopt;
        best->overhead = std::min(best->overhead, overhead);
        best->gap = overhead > best->overhead ? (overhead - best->overhead) / best->overhead : 0;
        best->seconds = bounding_.count() + (any_order_ ? any_order_->seconds : 0);
        if (nodes_) best->nodes = nodes_;
        return best;
    }

    void report() {
        if (!progress_ || !best_.any()) return;
        const std::optional<Bound> proven = bound(best_.overhead());
        progress_({best_.overhead(), best_.peak(), proven ? std::optional(proven->overhead) : std::nullopt,
                   deadline_.fraction()});
    }

    /// Where the programme is too large to get far, the start is worth more.
    std::chrono::nanoseconds warm_up_time() const {
        const auto share = std::chrono::nanoseconds(
            static_cast<std::int64_t>(options_.warm_up * double(limits_.time.count())));
        const bool large = required_once(problem_.flat).size() > kLarge;
        return large ? share * 5 : std::min<std::chrono::nanoseconds>(kLongestWarmUp, share);
    }

    void warm_up() {
        std::stop_source close;
        const std::stop_callback outer(limits_.stop, [&] { close.request_stop(); });
        Limits limits = limits_;
        limits.time = warm_up_time();
        limits.stop = close.get_token();
        const Answer start = make_atlas()->solve(problem_, budget_, limits, [&](const Incumbent& found) {
            if (progress_) progress_({found.overhead, found.peak, found.bound, deadline_.fraction()});
            if (found.bound && found.overhead <= *found.bound * (1 + options_.gap)) close.request_stop();
        });
        if (const auto* found = std::get_if<Solution>(&start)) {
            best_.offer(*found);
            any_order_ = found->bound;
            proven_ = any_order_ && best_.overhead() <= any_order_->overhead * (1 + options_.gap);
        } else {
            smallest_ = std::get<Infeasible>(start).smallest_found;
            proven_ = std::get<Infeasible>(start).proven;
        }
        report();
    }

    void solve() {
        const FlatGraph& graph = problem_.flat;
        const auto begin = std::chrono::steady_clock::now();
        StagedModelOptions interest{.stop = limits_.stop};
        if (best_.any()) interest.below = best_.time();
        const auto model = std::make_shared<const StagedModel>(graph, budget_.value, interest);
        std::vector<double> start;
        if (best_.any())
            if (auto point = model->encode(best_.runs())) start = *std::move(point);
        // The library's gap is of the objective, ours of the bound, which is rounded down besides.
        const double gap = std::max(0.0, options_.gap / (1 + options_.gap) - 2 * kBoundRounding);
        MilpLimits limits{.relative_gap = gap, .threads = limits_.threads, .seed = limits_.seed};
        limits.time = deadline_.left();
        // Shares the ownership of the whole model.
        const std::shared_ptr<const MilpModel> milp(model, &model->milp());
        MilpThread thread(options_.library, milp, limits, std::move(start));
        watch(thread, *model);
        bounding_ = std::chrono::steady_clock::now() - begin;
    }

    void watch(MilpThread& thread, const StagedModel& model) {
        while (!deadline_.passed()) {
            const MilpThread::News now = thread.news(kGlance);
            nodes_ = now.nodes;
            bool news = raise_bound(model, now.bound);
            for (const std::vector<double>& values : now.incumbents)
                news |= best_.offer(model.decode(values));
            if (now.answer) return conclude(model, *now.answer);
            if (news) report();
        }
    }

    /// What is known of the class: schedules of at least the start's time may be missing from the model.
    bool raise_bound(const StagedModel& model, double objective) {
        if (!std::isfinite(objective)) return false;
        const double base = double(std::max<std::int64_t>(problem_.flat.base_time, 1));
        double bound = model.time_of(objective) / base * (1 - kBoundRounding);
        if (best_.any()) bound = std::min(bound, best_.overhead());
        if (bound <= bound_) return false;
        bound_ = bound;
        return true;
    }

    void conclude(const StagedModel& model, const Result<MilpAnswer>& answer) {
        if (!answer) return;
        if (!answer->values.empty()) best_.offer(model.decode(answer->values));
        if (answer->status == MilpStatus::infeasible) {
            // Nothing in the class is better than the start.
            if (best_.any()) bound_ = best_.overhead();
        } else {
            raise_bound(model, answer->bound);
        }
        report();
    }

    const Problem& problem_;
    const Bytes budget_;
    const Limits& limits_;
    const CheckmateOptions& options_;
    const Progress& progress_;
    const Deadline deadline_;
    BestFound best_;
    std::optional<Bytes> smallest_;
    std::optional<Bound> any_order_;
    bool proven_ = false;                       ///< over all orders, before the programme is needed
    double bound_ = 0;                          ///< over the class
    std::optional<std::int64_t> nodes_;         ///< of its branch and bound
    std::chrono::duration<double> bounding_{};  ///< with the programme
};

class Checkmate final : public Solver {
  public:
    explicit Checkmate(const CheckmateOptions& options) : options_(options) {}
    std::string_view name() const override { return "checkmate"; }
    std::string_view summary() const override {
        return "mixed-integer programme over stages, optimal for the graph's order; of use up to about 200 "
               "ops, "
               "beyond 600 it gives its start, by atlas";
    }
    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override {
        if (auto solution = optimal_without_reruns(problem.flat, budget)) return *std::move(solution);
        return Search(problem, budget, limits, options_, progress).run();
    }

  private:
    CheckmateOptions options_;
};

}  // namespace

Result<CheckmateOptions> checkmate_options(const nlohmann::json* json) {
    CheckmateOptions options;
    OptionReader reader("checkmate", json);
    reader.number("gap", options.gap, 0, 1);
    reader.number("warm_up", options.warm_up, 0, 1);
    if (Result<void> read = finish_with_library(reader, "checkmate", options.library); !read)
        return read.error();
    return options;
}

std::unique_ptr<Solver> make_checkmate(const CheckmateOptions& options) {
    return std::make_unique<Checkmate>(options);
}

}  // namespace rematlas
