#include "core/solvers/atlas/portfolio.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/schedule/run_sequence.h"
#include "core/solvers/atlas/anneal.h"
#include "core/solvers/atlas/random.h"
#include "core/solving/answers.h"

namespace rematlas::atlas {

namespace {

// A hot cycle finds another arrangement, a cool one the details of this one: which helps depends on the
// graph, so they take turns.
constexpr double kHeats[] = {1, 3, 0.3, 3, 1, 0.1};
constexpr double kMovesToCool = 100;  // for each op: a cycle with fewer does not make up for all the heat
constexpr double kLeastHeat = 0.03;
constexpr double kLongestCycle = 1e15;
// Now and then a cycle goes out from another order: the first one may lead nowhere. In large graphs a cycle
// is too short to make up for it.
constexpr int kMostOpsReordered = 300;
constexpr std::size_t kCyclesAReordering = 3;
constexpr std::uint64_t kSeedStride = 0x9e3779b97f4a7c15u;

/// Every required op once: depth first from them, in a random order of the ops and of the inputs of each.
class RandomOrder {
  public:
    RandomOrder(const FlatGraph& graph, Random& random)
        : graph_(graph), random_(random), seen_(static_cast<std::size_t>(graph.op_count), 0) {
        for (const int op : shuffled(required_once(graph))) visit(op);
    }
    RunSequence runs;

  private:
    std::vector<std::int32_t> shuffled(std::vector<std::int32_t> items) {
        for (std::size_t i = items.size(); i > 1; --i)
            std::swap(items[i - 1], items[static_cast<std::size_t>(random_.below(i))]);
        return items;
    }
    void visit(int op) {
        if (std::exchange(seen_[op], 1)) return;
        const auto inputs = graph_.inputs[op];
        for (const int t : shuffled({inputs.begin(), inputs.end()})) visit(graph_.producer[t]);
        runs.push_back(op);
    }

    const FlatGraph& graph_;
    Random& random_;
    std::vector<std::uint8_t> seen_;
};

class Portfolio {
  public:
    Portfolio(const FlatGraph& graph, const Candidate& start, const PortfolioTask& task,
              const AtlasOptions& options, const Deadline& deadline)
        : graph_(graph), start_(start), task_(task), options_(options), deadline_(deadline), shared_(start) {}

    PortfolioResult run();

  private:
    PortfolioResult work(int worker);
    RunSequence start_of(std::size_t cycle, const RunSequence& best, Random& random) const;
    bool publish(int worker, const Candidate& found);
    double heat_of(std::size_t cycle, std::uint64_t moves) const;
    std::uint64_t next_cycle(double planned, std::uint64_t done, double started) const;

    const FlatGraph& graph_;
    const Candidate& start_;
    const PortfolioTask& task_;
    const AtlasOptions& options_;
    const Deadline& deadline_;
    std::mutex mutex_;
    Candidate shared_;  ///< best of all so far, for reports; under the mutex
    std::atomic<bool> reached_ = false;
};

PortfolioResult Portfolio::run() {
    const int threads = std::max(task_.threads, 1);
    std::vector<PortfolioResult> results(static_cast<std::size_t>(threads));
    {
        std::vector<std::jthread> others;
        for (int worker = 1; worker < threads; ++worker)
            others.emplace_back(
                [this, worker, &results] { results[static_cast<std::size_t>(worker)] = work(worker); });
        results[0] = work(0);
    }
    PortfolioResult total = std::move(results[0]);
    for (std::size_t worker = 1; worker < results.size(); ++worker) {
        PortfolioResult& other = results[worker];
        if (other.best.better_than(total.best, task_.budget)) total.best = std::move(other.best);
        total.smallest_peak = std::min(total.smallest_peak, other.smallest_peak);
        total.moves += other.moves;
    }
    return total;
}

PortfolioResult Portfolio::work(int worker) {
    Annealer annealer(graph_, task_.budget, start_, options_,
                      task_.seed + kSeedStride * static_cast<std::uint64_t>(worker), task_.repeats);
    const auto report = [&](const Candidate& found) { return publish(worker, found); };
    Random random(task_.seed ^ static_cast<std::uint64_t>(worker));
    const double started = deadline_.fraction();
    double planned = options_.first_cycle;
    for (std::size_t cycle = 0;; ++cycle) {
        const std::uint64_t moves = next_cycle(planned, annealer.moves(), started);
        if (moves == 0) break;
        const RunSequence from = start_of(cycle, annealer.best().runs, random);
        if (!annealer.run_cycle_from(from, moves, heat_of(cycle, moves), deadline_, report)) break;
        planned = std::min(planned * options_.cycle_growth, kLongestCycle);
    }
    return {annealer.best(), annealer.smallest_peak(), annealer.moves()};
}

RunSequence Portfolio::start_of(std::size_t cycle, const RunSequence& best, Random& random) const {
    if (cycle > 0 && cycle <= task_.others.size()) return task_.others[cycle - 1].runs;
    const bool reorder = cycle > 0 && cycle % kCyclesAReordering == 0;
    if (reorder && graph_.op_count <= kMostOpsReordered) return RandomOrder(graph_, random).runs;
    return best;
}

bool Portfolio::publish(int worker, const Candidate& found) {
    const bool own = found.peak <= task_.budget && found.time <= task_.least_time;
    if (own) reached_ = true;
    {
        const std::lock_guard lock(mutex_);
        if (found.better_than(shared_, task_.budget)) shared_ = found;
        if (worker == 0 && task_.report) task_.report(shared_);
    }
    // Under a limit of moves the others go on, so that what they find does not depend on who was first.
    return !own && (options_.max_moves > 0 || !reached_);
}

double Portfolio::heat_of(std::size_t cycle, std::uint64_t moves) const {
    const double cooled = static_cast<double>(moves) / (kMovesToCool * std::max(graph_.op_count, 1));
    return kHeats[cycle % std::size(kHeats)] * std::clamp(cooled, kLeastHeat, 1.0);
}

// A cycle is worth little before it has cooled, so the last one is cut to the moves that are left, or that
// the time is likely to allow.
std::uint64_t Portfolio::next_cycle(double planned, std::uint64_t done, double started) const {
    const std::uint64_t moves = static_cast<std::uint64_t>(planned);
    if (options_.max_moves > 0)
        return std::min(moves, options_.max_moves - std::min(done, options_.max_moves));
    const double now = deadline_.fraction();
    if (done == 0 || now <= started) return moves;
    const double left = static_cast<double>(done) / (now - started) * (1 - now);
    // What would be left after this cycle is too short for another one.
    return left < 2 * planned ? static_cast<std::uint64_t>(left) + 1 : moves;
}

}  // namespace

PortfolioResult anneal_portfolio(const FlatGraph& graph, const Candidate& start, const PortfolioTask& task,
                                 const AtlasOptions& options, const Deadline& deadline) {
    return Portfolio(graph, start, task, options, deadline).run();
}

}  // namespace rematlas::atlas
