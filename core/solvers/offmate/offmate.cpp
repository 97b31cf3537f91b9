#include "core/solvers/offmate/offmate.h"

#include <algorithm>
#include <cmath>

#include "core/schedule/run_sequence.h"
#include "core/solvers/hierarchical/hiremate.h"
#include "core/solvers/hierarchical/rockmate.h"
#include "core/solvers/offmate/block_programme.h"
#include "core/solvers/offmate/copying_plan.h"
#include "core/solving/answers.h"
#include "core/solving/library_option.h"

namespace rematlas {
namespace {

using namespace offmate;
using hierarchical::BlockTable;
using hierarchical::Level;

constexpr double kTableShare = 0.3;      // share of the time for options of blocks
constexpr double kSequenceShare = 0.25;  // share of the remaining time for sequences at larger budgets
constexpr double kHostShares[] = {1, 0.75, 0.5, 0.25};  // shares of the optimizer's ops that run on the host
constexpr double kFirstShareStep = 0.125;  // further shares are tried at this distance from the best
constexpr double kLeastShareStep = 0.015;

/// Makes the solver without copies: Rockmate, or HiRemate if the step is no sequence of blocks.
std::unique_ptr<Solver> without_copies(const Problem& problem, const OffmateOptions& options) {
    if (is_sequence_of_blocks(problem))
        return make_rockmate(
            {.partition = options.partition, .blocks = options.blocks, .slots = options.slots});
    HiremateOptions hiremate;
    hiremate.blocks = options.blocks;
    return make_hiremate(hiremate);
}

/// Says whether ops may run on the host. If so, a step can take less time than one run of each op on the
/// device.
bool runs_on_host(const Problem& problem) {
    const auto& ops = problem.graph.ops;
    return moves_weights(problem.copies.what) &&
           std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.host_time.has_value(); });
}

/// Returns the numbers 0 .. count - 1 in an order that covers the range evenly: numbers far apart first, then
/// numbers between them at ever smaller distances. So even a short search covers the whole range.
std::vector<int> spread_out(int count) {
    std::vector<int> order{0};
    int stride = 1;
    while (2 * stride < count) stride *= 2;
    if (count > 1) order.push_back(count - 1);
    for (; stride > 0; stride /= 2)
        for (int i = stride; i + 1 < count; i += 2 * stride) order.push_back(i);
    return order;
}

/// The search for one budget.
class Search {
  public:
    Search(const Problem& problem, Bytes budget, const OffmateOptions& options, const Limits& limits,
           const Progress& progress)
        : problem_(problem),
          budget_(budget),
          options_(options),
          limits_(limits),
          deadline_(limits),
          progress_(progress),
          part_(without_optimizer(problem.graph, problem.flat)),
          planner_(problem, budget,
                   {.least_copy =
                        std::max<std::int64_t>(options.least_copy, problem.copies.links.least_copy.value),
                    .price = options.copy_price,
                    .programme = options.programme}) {}

    Answer run() {
        if (!optimizer_is_last(problem_.graph, problem_.flat)) return in_graph_order();
        host_share_ = 0;
        take(planner_.by_weight(placed(required_once(part_))));
        lower_least(required_once(part_));
        for (const auto stage : {&Search::try_without_copies, &Search::try_sequences, &Search::try_programme,
                                 &Search::try_host_shares, &Search::improve})
            if (!is_least()) (this->*stage)();
        return answer();
    }

  private:
    Limits left(double share = 1) const { return limits_.with_time(share_of(deadline_.left(), share)); }

    /// Plans copies for a single order of the ops, the graph's. Called if ops of the optimizer are in the
    /// middle of the step, because other orders might then be wrong.
    Answer in_graph_order() {
        std::vector<PlacedRun> runs;
        for (const int op : required_once(problem_.flat)) runs.push_back({op, false});
        smallest_ = Bytes(planner_.least_budget(runs));
        take(planner_.by_weight(runs));
        take(planner_.by_programme(runs, deadline_));
        improve();
        return answer();
    }

    /// Returns the runs with the optimizer's ops inserted. Of the ops that can run on the host, the first
    /// ones run there: as many as the share `host_share_` says.
    std::vector<PlacedRun> placed(const RunSequence& runs) const {
        const Graph& graph = problem_.graph;
        std::vector<char> on_host(graph.ops.size(), 0);
        std::vector<PlacedRun> step = with_optimizer(graph, problem_.flat, runs, on_host);
        std::vector<std::int32_t> able;
        for (const PlacedRun& run : step)
            if (graph.ops[OpId(run.op)].host_time) able.push_back(run.op);
        const auto first =
            static_cast<std::size_t>(std::llround(host_share_ * static_cast<double>(able.size())));
        for (std::size_t i = 0; i < first; ++i) on_host[static_cast<std::size_t>(able[i])] = 1;
        return first == 0 ? step : with_optimizer(graph, problem_.flat, runs, on_host);
    }

    bool take(std::optional<CopyingPlan> plan) {
        if (!plan || (best_ && std::pair(plan->time, plan->peak) >= std::pair(best_->time, best_->peak)))
            return false;
        best_ = std::move(plan);
        if (progress_)
            progress_({.overhead = overhead(),
                       .peak = Bytes(best_->peak),
                       .bound = {},
                       .fraction_done = deadline_.fraction()});
        return true;
    }

    /// Plans copies for the sequence. Returns the time of the plan in ns, or the largest number if there is
    /// no plan.
    std::int64_t try_runs(const RunSequence& runs, int stages = kAllStages) {
        std::optional<CopyingPlan> plan = planner_.by_programme(placed(runs), deadline_, stages);
        lower_least(runs);
        const std::int64_t time = plan ? plan->time : std::numeric_limits<std::int64_t>::max();
        if (take(std::move(plan))) best_runs_ = runs;
        return time;
    }

    void lower_least(const RunSequence& runs) {
        const Bytes least(planner_.least_budget(placed(runs)));
        smallest_ = std::min(smallest_.value_or(least), least);
    }

    void try_without_copies() {
        const FlatGraph& flat = problem_.flat;
        const Problem plain{problem_.graph, flat};
        const Answer answer =
            ::rematlas::without_copies(plain, options_)->solve(plain, budget_, left(kTableShare), {});
        const auto* solution = std::get_if<Solution>(&answer);
        std::optional<RunSequence> runs = solution ? runs_of(solution->steps) : std::nullopt;
        if (!runs) return;
        std::vector<PlacedRun> step;
        for (const int op : *runs) step.push_back({op, false});
        take(planner_.without_copies(step));
    }

    /// Tries sequences that the solver without copies finds for a range of budgets. The range begins at the
    /// budget. If no schedule without copies fits the budget, it begins at the least budget for which a
    /// schedule was found. Then tries budgets near the best one.
    void try_sequences() {
        const Problem plain{problem_.graph, part_};
        const Bytes most(cost_of(part_, required_once(part_)).peak);
        const std::unique_ptr<Solver> solver = ::rematlas::without_copies(plain, options_);
        curve_ = solver->up_to(plain, most, left(kTableShare));
        if (!curve_) return;
        const Deadline until(left(2 * kSequenceShare));
        const std::int64_t low = least_of_curve(plain), high = most.value;
        double from = 0, to = 1;
        for (const bool first : {true, false}) {
            double best_at = from;
            std::int64_t best = std::numeric_limits<std::int64_t>::max();
            const double step = (to - from) / options_.sequences;
            for (const int i : spread_out(options_.sequences + 1)) {
                if (until.passed()) break;
                const double at = from + step * i;
                // The budgets are closer together at the lower end, because slow links can move only few
                // bytes to the host.
                const auto room = low + static_cast<std::int64_t>(at * at * static_cast<double>(high - low));
                const std::int64_t time = try_budget(plain, room, first ? 1 : kAllStages);
                if (time >= best) continue;
                best = time;
                best_at = at;
            }
            from = std::max(0.0, best_at - step);
            to = std::min(1.0, best_at + step);
        }
    }

    std::int64_t least_of_curve(const Problem& plain) const {
        const Answer answer = curve_->solve(plain, budget_, left(kSequenceShare), {});
        const auto* none = std::get_if<Infeasible>(&answer);
        return none && none->smallest_found ? none->smallest_found->value : budget_.value;
    }

    std::int64_t try_budget(const Problem& plain, std::int64_t room, int stages) {
        const Answer answer = curve_->solve(plain, Bytes(room), left(kSequenceShare), {});
        const auto* solution = std::get_if<Solution>(&answer);
        const std::optional<RunSequence> runs = solution ? runs_of(solution->steps) : std::nullopt;
        return runs ? try_runs(*runs, stages) : std::numeric_limits<std::int64_t>::max();
    }

    /// Tries OffMate's integer program, which chooses all options at once.
    void try_programme() {
        if (milp_libraries().empty() || deadline_.passed()) return;
        const Problem plain{problem_.graph, part_};
        TrainingTree tree = training_tree(problem_.graph, part_, options_.partition);
        if (tree.blocks.front().children.empty()) return;
        BlockTable table(plain, std::move(tree), options_.blocks);
        table.fill(Deadline(left(kTableShare)), limits_.threads, hierarchical::OptionCache(limits_.cache));
        const Level level = table.level_of(0);
        std::vector<const Subproblem*> blocks;
        for (const int child : table.tree().blocks.front().children) blocks.push_back(&table.part(child));
        const RunSequence once = level.lowered(level.once(std::vector<std::int32_t>(blocks.size(), 0)));
        BlockLimits limits{
            .links = problem_.copies.links,
            .budget = budget_.value,
            .least_copy = std::max<std::int64_t>(options_.least_copy, problem_.copies.links.least_copy.value),
            .activations = moves_activations(problem_.copies.what),
            .residents = moves_weights(problem_.copies.what),
            .price = options_.copy_price,
            .most_options = options_.most_options};
        if (problem_.copies.host_budget) limits.host_budget = problem_.copies.host_budget->value;
        const auto programme = std::make_shared<const BlockProgramme>(problem_.graph, problem_.flat, level,
                                                                      blocks, placed(once), limits);
        run_programme(std::shared_ptr<const MilpModel>(programme, &programme->milp()), {}, options_.programme,
                      deadline_, [&](std::span<const double> values) {
                          const RunSequence runs = level.lowered(programme->decode(values));
                          try_runs(without_useless(part_, runs));
                      });
    }

    void try_host_shares() {
        if (!options_.host_optimizer || !runs_on_host(problem_)) return;
        for (const double share : kHostShares) try_host_share(share);
        for (double step = kFirstShareStep; step >= kLeastShareStep; step /= 2)
            if (!try_host_share(host_share_ - step)) try_host_share(host_share_ + step);
        // Other sequences may be better when updates run on the host, so all sequences are tried again.
        if (host_share_ > 0 && curve_) try_sequences();
    }

    /// Tries to run a share of the updates on the host. Keeps this share if it gives a better schedule than
    /// the previous share. Returns whether it does.
    bool try_host_share(double share) {
        if (share <= 0 || share > 1 || deadline_.passed()) return false;
        const double before = std::exchange(host_share_, share);
        const RunSequence runs = best_runs_.value_or(required_once(part_));
        lower_least(runs);
        const bool better = take(planner_.by_programme(placed(runs), deadline_));
        if (!better) host_share_ = before;
        return better;
    }

    /// Says whether the best schedule takes no longer than running all required ops once on the device, which
    /// is the least possible time.
    bool is_least() const {
        return best_ && !runs_on_host(problem_) &&
               best_->time <= cost_of(problem_.flat, required_once(problem_.flat)).time;
    }

    void improve() {
        if (!best_) return;
        const std::int64_t before = best_->time;
        planner_.improve(*best_, options_.trials, options_.blocks.seed, deadline_);
        if (best_->time < before && progress_)
            progress_({.overhead = overhead(), .peak = Bytes(best_->peak), .bound = {}, .fraction_done = 1});
    }

    double overhead() const { return problem_.flat.overhead_of(best_->time); }

    Answer answer() const {
        if (!best_) {
            std::optional<Bytes> found = smallest_ && *smallest_ > budget_ ? smallest_ : std::nullopt;
            return infeasible_from(problem_, budget_, found);
        }
        return Solution{.steps = best_->steps,
                        .homes = best_->homes,
                        .time = Nanoseconds(best_->time),
                        .peak = Bytes(best_->peak),
                        .overhead = overhead(),
                        .status = Status::feasible,
                        .bound = {}};
    }

    const Problem& problem_;
    const Bytes budget_;
    const OffmateOptions& options_;
    const Limits& limits_;
    const Deadline deadline_;
    const Progress& progress_;
    const FlatGraph part_;  ///< the graph without the optimizer
    const CopyPlanner planner_;
    double host_share_ = 0;
    std::unique_ptr<Solver> curve_;  ///< the solver without copies, made by `up_to` for all budgets
    std::optional<CopyingPlan> best_;
    std::optional<RunSequence> best_runs_;
    std::optional<Bytes> smallest_;
};

Answer solve_by_offmate(const Problem& problem, Bytes budget, const Limits& limits, const Progress& progress,
                        const OffmateOptions& options) {
    if (problem.copies.what == Offload::none)
        return without_copies(problem, options)->solve(problem, budget, limits, progress);
    if (!runs_on_host(problem))
        if (auto solution = optimal_without_reruns(problem.flat, budget)) return *std::move(solution);
    return Search(problem, budget, options, limits, progress).run();
}

}  // namespace

void read_options(OptionReader& reader, OffmateOptions& options) {
    hierarchical::read_bottom_options(reader, options.partition, options.blocks);
    reader.integer("slots", options.slots, 10, 100'000);
    reader.integer("most_options", options.most_options, 2, 100'000);
    reader.number("copy_price", options.copy_price, 0, 1);
    reader.flag("host_optimizer", options.host_optimizer);
    reader.integer("sequences", options.sequences, 1, 1000);
    reader.integer("trials", options.trials, 0, 100'000'000);
    reader.unsigned_integer("seed", options.blocks.seed);
    reader.number("gap", options.programme.gap, 0, 1);
    reader.integer("least_copy_bytes", options.least_copy, 0, 1'000'000'000);
    double seconds = std::chrono::duration<double>(options.programme.time).count();
    reader.number("programme_seconds", seconds, 0.01, 1e6);
    options.programme.time = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
    read_library(reader, options.programme.library, !milp_libraries().empty());
}

std::unique_ptr<Solver> make_offmate(const OffmateOptions& options) {
    return std::make_unique<FunctionSolver<OffmateOptions>>(offmate_solver, solve_by_offmate, options);
}

constinit const SolverEntry offmate_solver = solver_entry<OffmateOptions, make_offmate>(
    {.name = "offmate",
     .summary = "options of blocks and copies to the host by one mixed-integer programme (OffMate, 2024)",
     .finds = ScheduleClass::any_order,
     .copies = Offload::all});

}  // namespace rematlas
