#include "core/solvers/atlas/atlas.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/bounds/best_bound.h"
#include "core/milp/milp.h"
#include "core/solvers/atlas/greedy_start.h"
#include "core/solvers/atlas/portfolio.h"
#include "core/solvers/atlas/smallest_budget.h"
#include "core/solvers/atlas/window_search.h"
#include "core/solvers/chen.h"
#include "core/solvers/deadline.h"
#include "core/solvers/dtr.h"
#include "core/solvers/required_once.h"
#include "core/solvers/revolve.h"
#include "core/solvers/rotor.h"

namespace rematlas {

namespace {

using atlas::Candidate;
using atlas::PortfolioResult;

constexpr double kStartShare = 0.3;       // of the time, for more starts when one fits already
constexpr double kBoundTolerance = 1e-9;  // a schedule this close to its bound is optimal
constexpr int kPublishedShare = 20;       // part of the time that each published solver may take
constexpr int kBoundShare = 10;           // part of the time that the bound may take
constexpr auto kLongestBound = std::chrono::seconds(3);
constexpr std::int64_t kMostOpsProved = 1000;                // for the bounds that take as long as the search
constexpr int kProofShare = 3;                               // part of the time that they may take
constexpr auto kBeforeProof = std::chrono::milliseconds(5);  // of search, for each op
constexpr int kWindowShare = 10;                             // part of the time for windows, at the end
constexpr int kMostWindows = 1000;
constexpr double kStalled = 0.3;  // of the time without news, before they begin
constexpr std::uint64_t kSeedStride = 1'000'003;
constexpr std::size_t kMostStarts = 4;
constexpr double kReportStep = 0.01;  // of the time, between reports without news
constexpr auto kLongestHint = std::chrono::milliseconds(300);

/// One call of the solver.
class Search {
  public:
    Search(const Problem& problem, Bytes budget, const Limits& limits, const AtlasOptions& options,
           const Progress& progress)
        : problem_(problem),
          graph_(problem.flat),
          budget_(budget.value),
          options_(options),
          limits_(limits),
          deadline_(limits),
          progress_(progress),
          repeats_(atlas::repeats_of(problem.graph)),
          best_(Candidate::of(graph_, required_once(graph_))) {}

    Answer run() {
        best_ = best_start(graph_, budget_, best_, deadline_, kStartShare,
                           [this](const Candidate& found) { offer_start(found); });
        start_from_published();
        find_bound();
        if (best_.peak > budget_) descend();
        if (graph_.op_count <= kMostOpsProved && options_.max_moves == 0) {
            anneal(best_, std::min<std::chrono::nanoseconds>(limits_.time / (2 * kProofShare),
                                                             kBeforeProof * graph_.op_count));
            prove();
        }
        anneal(best_, deadline_.left() - limits_.time / kWindowShare, starts_);
        plan_windows();
        anneal(best_, limits_.time);
        if (best_.peak > budget_) return infeasible_from(graph_, Bytes(budget_), Bytes(smallest_peak_));
        return answer();
    }

  private:
    void start_from_published();
    void find_bound();
    void descend();
    void prove();
    void anneal(Candidate start, std::chrono::nanoseconds time, std::span<const Candidate> others = {});
    void plan_windows();
    bool is_optimal() const {
        return bound_ && best_.peak <= budget_ && overhead() <= *bound_ * (1 + kBoundTolerance);
    }
    double overhead() const;
    void offer(const Candidate& candidate);
    void offer_start(Candidate candidate);
    void report();
    Solution answer() const;

    const Problem& problem_;
    const FlatGraph& graph_;
    const std::int64_t budget_;
    const AtlasOptions& options_;
    const Limits& limits_;
    const Deadline deadline_;
    const Progress& progress_;
    const atlas::Repeats repeats_;
    Candidate best_;
    std::vector<Candidate> starts_;  ///< of different times, best first
    std::int64_t smallest_peak_ = best_.peak;
    std::optional<double> bound_;
    double bound_seconds_ = 0;                 ///< that the bounds took
    std::optional<std::int64_t> bound_nodes_;  ///< where they solved a programme
    std::uint64_t legs_ = 0;                   ///< of the annealing
    double reported_ = 0;                      ///< share of the time gone by at the last report
    double improved_ = 0;                      ///< the same, at the last improvement
};

double Search::overhead() const {
    return graph_.base_time > 0 ? static_cast<double>(best_.time) / static_cast<double>(graph_.base_time) : 1;
}

void Search::report() {
    reported_ = deadline_.fraction();
    if (progress_) progress_({overhead(), Bytes(best_.peak), bound_, reported_});
}

// The best few are kept: another one than the best may be nearer to what the search is after.
void Search::offer_start(Candidate candidate) {
    offer(candidate);
    const auto same = [&](const Candidate& other) { return other.time == candidate.time; };
    if (std::any_of(starts_.begin(), starts_.end(), same)) return;
    const auto worse = [&](const Candidate& other) { return candidate.better_than(other, budget_); };
    starts_.insert(std::find_if(starts_.begin(), starts_.end(), worse), std::move(candidate));
    if (starts_.size() > kMostStarts) starts_.pop_back();
}

void Search::offer(const Candidate& candidate) {
    smallest_peak_ = std::min(smallest_peak_, candidate.peak);
    if (!candidate.better_than(best_, budget_)) return;
    best_ = candidate;
    improved_ = deadline_.fraction();
    if (best_.peak <= budget_) report();
}

// Rotor is optimal on chains, and its basin may be out of reach of the annealing; the others cost little.
void Search::start_from_published() {
    const std::unique_ptr<Solver> published[] = {make_rotor(), make_dtr(), make_chen_greedy(),
                                                 make_chen_sqrt(), make_revolve()};
    Limits share = limits_;
    share.time = limits_.time / kPublishedShare;
    for (const auto& solver : published) {
        if (deadline_.passed()) return;
        const Answer answer = solver->solve(problem_, Bytes(budget_), share, {});
        const Solution* solution = std::get_if<Solution>(&answer);
        if (!solution) continue;
        RunSequence runs;
        for (const Step& step : solution->steps) {
            if (step.runs()) runs.push_back(step.id);
        }
        offer_start(Candidate::of(graph_, std::move(runs)));
    }
}

// After the starts, so that a large graph has an answer first.
void Search::find_bound() {
    if (deadline_.passed()) return;
    const auto time = std::min<std::chrono::nanoseconds>(limits_.time / kBoundShare, kLongestBound);
    const OverheadBound bound =
        overhead_lower_bound(graph_, Bytes(budget_), {.time = time, .stop = limits_.stop});
    bound_ = bound.overhead;
    bound_seconds_ += bound.seconds;
    if (best_.peak <= budget_) report();
}

// No start fits: memory first, time afterwards. Annealing for both at once would find nothing where hardly
// any schedule fits.
void Search::descend() {
    if (deadline_.passed()) return;
    Limits limits = limits_;
    limits.time = limits_.time / 2;
    limits.seed += options_.seed;
    offer(Candidate::of(graph_, smallest_feasible(graph_, limits, Bytes(budget_)).runs));
}

// A good schedule makes the proof short, and the proof may bring a better one.
void Search::prove() {
    if (deadline_.passed() || is_optimal()) return;
    BestBoundLimits limits{
        .time = std::min<std::chrono::nanoseconds>(limits_.time / kProofShare, deadline_.left()),
        .stop = limits_.stop};
    if (best_.peak <= budget_) limits.known = best_.time;
    const ProvenBound bound = best_bound(graph_, Bytes(budget_), limits);
    bound_seconds_ += bound.seconds;
    bound_nodes_ = bound.nodes;
    bound_ = std::max(bound_.value_or(0), bound.overhead);
    if (best_.peak <= budget_) report();
    if (bound.runs.empty()) return;
    const Candidate read_back = Candidate::of(graph_, bound.runs);
    offer(read_back);
    // Fast and over the budget: perhaps not far from a schedule as fast that is not.
    if (read_back.peak > budget_ && read_back.time < best_.time)
        anneal(read_back, limits_.time / kProofShare / 2);
}

void Search::anneal(Candidate start, std::chrono::nanoseconds time, std::span<const Candidate> others) {
    if (deadline_.passed() || is_optimal()) return;
    Limits limits = limits_;
    limits.time = std::min<std::chrono::nanoseconds>(time, deadline_.left());
    const auto on_report = [this](const Candidate& found) {
        offer(found);
        if (best_.peak <= budget_ && deadline_.fraction() >= reported_ + kReportStep) report();
    };
    const double least = bound_ ? *bound_ * (1 + kBoundTolerance) * static_cast<double>(graph_.base_time) : 0;
    const PortfolioResult result =
        anneal_portfolio(graph_, start,
                         {.budget = budget_,
                          .seed = limits_.seed + options_.seed + kSeedStride * legs_++,
                          .threads = limits_.threads,
                          .least_time = static_cast<std::int64_t>(std::min(least, 9e18)),
                          .others = others,
                          .repeats = &repeats_,
                          .report = on_report},
                         options_, Deadline(limits));
    // Of equals the reports had the one that came first; this one does not depend on the threads' timing.
    const bool improved = result.best.better_than(best_, budget_);
    if (improved) improved_ = deadline_.fraction();
    if (!best_.better_than(result.best, budget_)) best_ = result.best;
    if (improved && best_.peak <= budget_) report();
    smallest_peak_ = std::min(smallest_peak_, result.smallest_peak);
}

// What is left when annealing has come to an end.
void Search::plan_windows() {
    const bool stalled = deadline_.fraction() - improved_ >= kStalled;
    if (!stalled || options_.max_moves > 0 || milp_libraries().empty()) return;
    if (deadline_.passed() || is_optimal() || best_.peak > budget_) return;
    atlas::WindowSearch windows(graph_, budget_, milp_libraries().front(), limits_.seed + options_.seed);
    windows.improve(best_, kMostWindows, deadline_, [this](const Candidate& found) { offer(found); });
}

Solution Search::answer() const {
    Solution solution = solution_from(graph_, best_.runs);
    if (solution.bound || !bound_) return solution;
    solution.bound = Bound{.overhead = *bound_,
                           .gap = (overhead() - *bound_) / *bound_,
                           .over = kOverheadBoundClass,
                           .seconds = bound_seconds_,
                           .nodes = bound_nodes_};
    if (is_optimal()) solution.status = Status::optimal;
    return solution;
}

/// The answer when the budget is below the proven bound: how low this solver can go is worth a moment.
Infeasible proven_infeasible(const FlatGraph& graph, Bytes budget, const Limits& limits) {
    Limits brief = limits;
    brief.time = std::min<std::chrono::nanoseconds>(limits.time / 10, kLongestHint);
    return infeasible_from(graph, budget, smallest_feasible(graph, brief).peak);
}

class Atlas final : public Solver {
  public:
    explicit Atlas(const AtlasOptions& options) : options_(options) {}
    std::string_view name() const override { return "atlas"; }
    std::string_view summary() const override {
        return "annealing on the flat sequence of runs, from greedy and published starts: any order, any "
               "reruns";
    }

    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override {
        const FlatGraph& graph = problem.flat;
        if (auto solution = optimal_without_reruns(graph, budget)) {
            if (progress) progress({solution->overhead, solution->peak, solution->bound->overhead, 1});
            return *std::move(solution);
        }
        if (least_peak(graph).bytes > budget) return proven_infeasible(graph, budget, limits);
        return Search(problem, budget, limits, options_, progress).run();
    }

  private:
    AtlasOptions options_;
};

}  // namespace

std::unique_ptr<Solver> make_atlas(const AtlasOptions& options) {
    return std::make_unique<Atlas>(options);
}

}  // namespace rematlas
