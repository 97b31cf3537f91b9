#include "core/solvers/atlas/atlas.h"

#include <algorithm>
#include <vector>

#include "core/bounds/best_bound.h"
#include "core/bounds/least_memory.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/annealing/greedy_start.h"
#include "core/solvers/annealing/portfolio.h"
#include "core/solvers/atlas/copy_search.h"
#include "core/solvers/atlas/smallest_budget.h"
#include "core/solvers/chen/chen.h"
#include "core/solvers/dtr/dtr.h"
#include "core/solvers/hierarchical/rockmate.h"
#include "core/solvers/revolve/revolve.h"
#include "core/solvers/rotor/rotor.h"
#include "core/solving/answers.h"
#include "core/solving/incumbent.h"
#include "core/solving/limits.h"

namespace rematlas {

namespace {

using annealing::PortfolioResult;

// Shares of the time limit.
constexpr double kStartShare = 0.3;         // for greedy schedules; more only while none of them fits
constexpr double kPublishedShare = 0.05;    // for each published solver
constexpr double kRotorShare = 0.15;        // for rotor; only long chains need so much
constexpr double kBlockShare = 0.3;         // for the answer of rockmate, whose schedules consist of blocks
constexpr double kBoundShare = 0.1;         // for the quick bound
constexpr double kMemoryProofShare = 0.05;  // for a proof that no schedule fits
constexpr double kProofShare = 1.0 / 3;     // for the stronger bound
constexpr double kTightProofShare = 0.1;    // for the stronger bound if no start fits; then it seldom helps
constexpr double kDescentShare = 0.25;      // for a search for the least memory, if no start fits
constexpr double kHintShare = 0.1;          // for the least peak that can be found, if no schedule fits
constexpr double kReportStep = 0.01;        // from one report to the next if no new schedule is found

constexpr auto kLongestBound = std::chrono::seconds(3);
constexpr auto kLongestHint = std::chrono::milliseconds(300);
constexpr std::int64_t kMostOpsProved = 1000;
constexpr auto kBeforeProof = std::chrono::milliseconds(5);  // most time of annealing per op before `prove`
constexpr std::uint64_t kSeedStride = 1'000'003;
constexpr std::size_t kMostStarts = 3;
constexpr int kTightTrials = 12;  // trials from the step without reruns, if no start fits

/// One call of the solver.
class AtlasSearch {
  public:
    AtlasSearch(const Problem& problem, Bytes budget, const Limits& limits, const AnnealingOptions& options,
                const Progress& progress)
        : problem_(problem),
          graph_(problem.flat),
          budget_(budget.value),
          options_(options),
          limits_(limits),
          deadline_(limits),
          repeats_(annealing::repeats_of(problem.graph)),
          best_(problem.flat, budget, deadline_, progress) {
        best_.offer(Candidate::of(graph_, required_once(graph_)));
    }

    Answer run() {
        annealing::best_start(graph_, budget_, best_.best(), deadline_, kStartShare,
                              [this](const Candidate& found) { offer_start(found); });
        start_from_published();
        find_bound();
        start_from_blocks();
        const bool tight = !best_.fits();
        if (tight) descend();
        std::erase_if(starts_, [&](const Candidate& start) { return start.runs == best_.best().runs; });
        const int trials = tight ? kTightTrials : 1;
        if (graph_.op_count > kMostOpsProved || options_.max_moves > 0) {
            anneal(best_.best(), limits_.time, starts_, trials);
        } else if (tight) {
            anneal(best_.best(), share_of(deadline_.left(), 1 - kTightProofShare), starts_, trials);
            prove(kTightProofShare);
        } else {
            anneal(best_.best(), std::min<std::chrono::nanoseconds>(share_of(limits_.time, kProofShare / 2),
                                                                    kBeforeProof * graph_.op_count));
            prove(kProofShare);
            anneal(best_.best(), limits_.time, starts_, trials);
        }
        return best_.answer();
    }

  private:
    bool is_over() const { return deadline_.passed() || best_.is_proven(gap_); }
    void start_from_published();
    void start_from(const Solver& solver, double share);
    void start_from_blocks();
    void find_bound();
    void descend();
    void prove(double share);
    void anneal(Candidate start, std::chrono::nanoseconds time, std::span<const Candidate> others = {},
                int trials = 0);
    void offer_start(Candidate candidate);

    const Problem& problem_;
    const FlatGraph& graph_;
    const std::int64_t budget_;
    const AnnealingOptions& options_;
    const Limits& limits_;
    const Deadline deadline_;
    const double gap_ = std::max(limits_.gap, kOptimalGap);
    const annealing::Repeats repeats_;
    Incumbent best_;
    std::vector<Candidate> starts_;  ///< schedules to anneal from, with different times, best first
    std::uint64_t legs_ = 0;         ///< number of calls of `anneal` so far
};

// Adds a schedule to anneal from. Several of the best are kept, because annealing from a worse start can lead
// to a better schedule.
void AtlasSearch::offer_start(Candidate candidate) {
    best_.offer(candidate);
    const auto same = [&](const Candidate& other) { return other.time == candidate.time; };
    if (std::any_of(starts_.begin(), starts_.end(), same)) return;
    const auto worse = [&](const Candidate& other) { return candidate.better_than(other, budget_); };
    starts_.insert(std::find_if(starts_.begin(), starts_.end(), worse), std::move(candidate));
    if (starts_.size() > kMostStarts) starts_.pop_back();
}

// Adds the answers of published solvers as starts. Rotor is optimal on chains, and annealing does not always
// reach its schedule from other starts. The other solvers cost little time.
void AtlasSearch::start_from_published() {
    const std::unique_ptr<Solver> published[] = {make_rotor(), make_dtr(), make_chen_greedy(),
                                                 make_chen_sqrt(), make_revolve()};
    for (const auto& solver : published)
        start_from(*solver, solver == published[0] ? kRotorShare : kPublishedShare);
}

void AtlasSearch::start_from(const Solver& solver, double share) {
    if (is_over()) return;
    const Answer answer =
        solver.solve(problem_, Bytes(budget_), limits_.with_time(share_of(limits_.time, share)), {});
    const Solution* solution = std::get_if<Solution>(&answer);
    if (!solution) return;
    if (std::optional<RunSequence> runs = runs_of(solution->steps))
        offer_start(Candidate::of(graph_, *std::move(runs)));
}

// Adds the answer of rockmate as a start. If the budget is tight and there are many blocks, decisions for
// whole blocks lead to schedules that annealing of single runs does not reach.
void AtlasSearch::start_from_blocks() {
    if (!is_over() && is_sequence_of_blocks(problem_)) start_from(*make_rockmate(), kBlockShare);
}

// Computes the quick bound. Called after the greedy and the published starts, so that a large graph gets an
// answer first.
void AtlasSearch::find_bound() {
    if (deadline_.passed()) return;
    const auto time = std::min<std::chrono::nanoseconds>(share_of(limits_.time, kBoundShare), kLongestBound);
    const OverheadBound bound =
        overhead_lower_bound(graph_, Bytes(budget_), {.time = time, .stop = limits_.stop});
    best_.raise_bound(bound.overhead, ScheduleClass::any_order);
    best_.add_bound_work(bound.seconds);
    best_.report();
}

// Called if no start fits. Searches for the schedule with the least memory, whatever its time, and adds it as
// a start. If hardly any schedule fits, annealing for time and memory at once finds nothing without this
// start. If many schedules fit, annealing from the step without reruns finds better schedules, so `anneal`
// makes trials from that step, too.
void AtlasSearch::descend() {
    if (deadline_.passed()) return;
    Limits limits = limits_.with_time(share_of(limits_.time, kDescentShare));
    limits.seed += options_.seed;
    offer_start(Candidate::of(graph_, smallest_feasible(graph_, limits, Bytes(budget_)).runs));
}

// Computes a stronger bound, for up to `share` of the time limit. The better the known schedule is, the less
// time this takes. Sometimes the computation also finds a better schedule.
void AtlasSearch::prove(double share) {
    if (is_over()) return;
    BestBoundLimits limits{.time = std::min(share_of(limits_.time, share), deadline_.left()),
                           .stop = limits_.stop};
    if (best_.fits()) limits.known = best_.best().time;
    const ProvenBound bound = best_bound(graph_, Bytes(budget_), limits);
    best_.add_bound_work(bound.seconds, bound.nodes);
    best_.raise_bound(bound.overhead, ScheduleClass::any_order);
    best_.report();
    if (bound.runs.empty()) return;
    const Candidate read_back = Candidate::of(graph_, bound.runs);
    best_.offer(read_back);
    // If the schedule that was found is fast but exceeds the budget, perhaps a similar one is fast and fits.
    if (read_back.peak > budget_ && read_back.time < best_.best().time)
        anneal(read_back, share_of(limits_.time, share / 2));
}

void AtlasSearch::anneal(Candidate start, std::chrono::nanoseconds time, std::span<const Candidate> others,
                         int trials) {
    if (is_over()) return;
    const Limits limits = limits_.with_time(std::min(time, deadline_.left()));
    const auto on_report = [this](const Candidate& found) {
        best_.offer(found);
        if (deadline_.fraction() >= best_.reported_at() + kReportStep) best_.report();
    };
    const double least = best_.bound().value_or(0) * (1 + gap_) * static_cast<double>(graph_.base_time);
    PortfolioResult result =
        annealing::anneal_portfolio(graph_, start,
                                    {.budget = budget_,
                                     .seed = limits_.seed + options_.seed + kSeedStride * legs_++,
                                     .threads = limits_.threads,
                                     .least_time = static_cast<std::int64_t>(std::min(least, 9e18)),
                                     .others = others,
                                     .trials = trials,
                                     .repeats = &repeats_,
                                     .report = on_report},
                                    options_, Deadline(limits));
    best_.note_peak(Bytes(result.smallest_peak));
    best_.settle(std::move(result.best));
}

/// Makes the answer for a budget below `needed`, a proven bound. A short search finds the least peak that
/// this solver can reach.
Infeasible proven_infeasible(const FlatGraph& graph, const PeakBound& needed, Bytes budget,
                             const Limits& limits) {
    const Limits brief =
        limits.with_time(std::min<std::chrono::nanoseconds>(share_of(limits.time, kHintShare), kLongestHint));
    return infeasible_from(needed, budget, smallest_feasible(graph, brief).peak);
}

Answer solve_by_atlas(const Problem& problem, Bytes budget, const Limits& limits, const Progress& progress,
                      const AnnealingOptions& options) {
    const FlatGraph& graph = problem.flat;
    if (problem.copies.what != Offload::none)
        return solve_with_copies(problem, budget, limits, options, progress);
    if (auto solution = optimal_without_reruns(graph, budget)) {
        if (progress) progress({solution->overhead, solution->peak, solution->bound->overhead, 1});
        return *std::move(solution);
    }
    const PeakBound needed = least_memory(graph, {.time = share_of(limits.time, kMemoryProofShare),
                                                  .stop = limits.stop,
                                                  .budget = budget,
                                                  .only_budget = true});
    if (needed.bytes > budget) return proven_infeasible(graph, needed, budget, limits);
    return AtlasSearch(problem, budget, limits, options, progress).run();
}

}  // namespace

std::unique_ptr<Solver> make_atlas(const AnnealingOptions& options) {
    return std::make_unique<FunctionSolver<AnnealingOptions>>(atlas_solver, solve_by_atlas, options);
}

constinit const SolverEntry atlas_solver = solver_entry<AnnealingOptions, make_atlas>(
    {.name = "atlas",
     .summary = "annealing on the flat sequence of runs, from greedy and published starts: any order, any "
                "reruns",
     .anytime = true,
     .finds = ScheduleClass::any_order,
     .copies = Offload::all,
     .boundary = true,
     .compared = true});

}  // namespace rematlas
