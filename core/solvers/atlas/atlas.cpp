#include "core/solvers/atlas/atlas.h"

#include <algorithm>
#include <cmath>

#include "core/bounds/one_moment.h"
#include "core/solvers/atlas/anneal.h"
#include "core/solvers/atlas/greedy_start.h"
#include "core/solvers/atlas/smallest_budget.h"
#include "core/solvers/deadline.h"
#include "core/solvers/required_once.h"

namespace rematlas {

namespace {

using atlas::Annealer;
using atlas::Candidate;

constexpr double kStartShare = 0.3;       // of the time, for more starts when one fits already
constexpr double kBoundTolerance = 1e-9;  // a schedule this close to its bound is optimal
// A hot cycle finds another arrangement, a cool one the details of this one: which helps depends on the graph, so they take turns.
constexpr double kHeats[] = {1, 1, 0.3, 0.1};
constexpr double kMovesToCool = 100;  // for each op: a cycle with fewer does not make up for all the heat
constexpr double kLeastHeat = 0.03;
constexpr int kBoundShare = 20;           // part of the time that the bound may take
constexpr auto kLongestBound = std::chrono::milliseconds(500);
constexpr auto kLongestHint = std::chrono::milliseconds(300);

/// One call of the solver.
class Search {
  public:
    Search(const FlatGraph& graph, Bytes budget, const Limits& limits, const AtlasOptions& options, const Progress& progress)
        : graph_(graph),
          budget_(budget.value),
          options_(options),
          seed_(limits.seed + options.seed),
          limits_(limits),
          deadline_(limits),
          progress_(progress),
          best_(Candidate::of(graph, required_once(graph))) {}

    Answer run() {
        best_ = best_start(graph_, budget_, best_, deadline_, kStartShare, [this](const Candidate& found) { offer(found); });
        find_bound();
        anneal();
        if (best_.peak > budget_) return infeasible_from(graph_, Bytes(budget_), Bytes(smallest_peak_));
        return answer();
    }

  private:
    void find_bound();
    void anneal();
    std::uint64_t next_cycle(std::uint64_t planned, std::uint64_t done, double started) const;
    double heat_of(std::size_t cycle, std::uint64_t moves) const {
        const double cooled = static_cast<double>(moves) / (kMovesToCool * graph_.op_count);
        return kHeats[cycle % std::size(kHeats)] * std::clamp(cooled, kLeastHeat, 1.0);
    }
    bool is_optimal() const { return bound_ && best_.peak <= budget_ && overhead() <= *bound_ * (1 + kBoundTolerance); }
    double overhead() const;
    void offer(const Candidate& candidate);
    void report();
    Solution answer() const;

    const FlatGraph& graph_;
    const std::int64_t budget_;
    const AtlasOptions& options_;
    const std::uint64_t seed_;
    const Limits& limits_;
    const Deadline deadline_;
    const Progress& progress_;
    Candidate best_;
    std::int64_t smallest_peak_ = best_.peak;
    std::optional<double> bound_;
};

double Search::overhead() const {
    return graph_.base_time > 0 ? static_cast<double>(best_.time) / static_cast<double>(graph_.base_time) : 1;
}

void Search::report() {
    if (progress_) progress_({overhead(), Bytes(best_.peak), bound_, deadline_.fraction()});
}

void Search::offer(const Candidate& candidate) {
    smallest_peak_ = std::min(smallest_peak_, candidate.peak);
    if (!candidate.better_than(best_, budget_)) return;
    best_ = candidate;
    if (best_.peak <= budget_) report();
}

// After the starts, so that a large graph has an answer first.
void Search::find_bound() {
    if (deadline_.passed()) return;
    const auto time = std::min<std::chrono::nanoseconds>(limits_.time / kBoundShare, kLongestBound);
    bound_ = overhead_lower_bound(graph_, Bytes(budget_), {.time = time, .stop = limits_.stop}).overhead;
    if (best_.peak <= budget_) report();
}

void Search::anneal() {
    if (deadline_.passed() || is_optimal()) return;
    Annealer annealer(graph_, budget_, best_, options_, seed_);
    const auto on_report = [this](const Candidate& found) {
        offer(found);
        return !is_optimal();
    };
    const double started = deadline_.fraction();
    double planned = options_.first_cycle;
    std::size_t cycle = 0;
    for (;;) {
        const std::uint64_t moves = next_cycle(static_cast<std::uint64_t>(planned), annealer.moves(), started);
        if (moves == 0 || !annealer.run_cycle(moves, heat_of(cycle++, moves), deadline_, on_report)) break;
        planned = std::min(planned * options_.cycle_growth, 1e15);
    }
    offer(annealer.best());
    smallest_peak_ = std::min(smallest_peak_, annealer.smallest_peak());
}

// A cycle is worth little before it has cooled, so the last one is cut to the moves that are left, or that the time is likely to allow.
std::uint64_t Search::next_cycle(std::uint64_t planned, std::uint64_t done, double started) const {
    if (options_.max_moves > 0) return std::min(planned, options_.max_moves - std::min(done, options_.max_moves));
    const double spent = deadline_.fraction() - started;
    if (done == 0 || spent <= 0) return planned;
    const double left = static_cast<double>(done) / spent * (1 - deadline_.fraction());
    // What would be left after this cycle is too short for another one.
    return left < 2 * static_cast<double>(planned) ? static_cast<std::uint64_t>(left) + 1 : planned;
}

Solution Search::answer() const {
    Solution solution = solution_from(graph_, best_.runs);
    if (solution.bound || !bound_) return solution;
    solution.bound = Bound{.overhead = *bound_, .gap = (overhead() - *bound_) / *bound_, .over = kOverheadBoundClass};
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
        return "annealing on the flat sequence of runs, from greedy starts: any order, any reruns";
    }

    Answer solve(const Problem& problem, Bytes budget, const Limits& limits, const Progress& progress) const override {
        const FlatGraph& graph = problem.flat;
        if (auto solution = optimal_without_reruns(graph, budget)) {
            if (progress) progress({solution->overhead, solution->peak, solution->bound->overhead, 1});
            return *std::move(solution);
        }
        if (least_peak(graph).bytes > budget) return proven_infeasible(graph, budget, limits);
        return Search(graph, budget, limits, options_, progress).run();
    }

  private:
    AtlasOptions options_;
};

}  // namespace

std::unique_ptr<Solver> make_atlas(const AtlasOptions& options) { return std::make_unique<Atlas>(options); }

}  // namespace rematlas
