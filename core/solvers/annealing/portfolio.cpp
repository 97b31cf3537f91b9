#include "core/solvers/annealing/portfolio.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/schedule/run_sequence.h"
#include "core/solvers/annealing/anneal.h"
#include "core/solvers/annealing/random.h"

namespace rematlas::annealing {

namespace {

// Start temperatures of the cycles, as multiples of `start_temperature`. A hot cycle finds a very different
// schedule; a cool cycle improves details of the current one. Which of the two helps depends on the graph, so
// hot and cool cycles alternate.
constexpr double kHeats[] = {1, 3, 0.3, 3, 1, 0.1};
constexpr double kMovesToCool = 100;  // per op; a cycle with fewer moves starts at a lower heat
constexpr double kLeastHeat = 0.03;
constexpr double kLongestCycle = 1e15;
// Some cycles start from a random order of the ops, because perhaps no good schedule is near the first order.
// This is not done in large graphs, where a cycle is too short to recover from a random order.
constexpr int kMostOpsReordered = 300;
constexpr std::size_t kCyclesAReordering = 3;
constexpr std::uint64_t kSeedStride = 0x9e3779b97f4a7c15u;
constexpr std::uint64_t kLaneStride = 0xd1b54a32d192ed03u;
constexpr double kRaceShare = 0.5;  // share of the time or moves after which the best lane continues alone
// All lanes (the annealers of one thread) run this many rounds before the worse half is dropped. After fewer
// rounds, a lane whose start fits the budget would win against better lanes whose start does not fit.
constexpr std::size_t kRoundsTogether = 2;

/// Makes a sequence that runs every required op once, in a random order: depth first, with the ops and the
/// inputs of each op shuffled.
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

/// The annealers of one thread, one for each start. The thread runs them in turn.
class Lanes {
  public:
    Lanes(const Candidate& start, std::int64_t budget)
        : budget_(budget), result_{.best = start, .smallest_peak = start.peak} {}

    void add(std::unique_ptr<Annealer> lane) { lanes_.push_back(std::move(lane)); }
    std::size_t size() const { return lanes_.size(); }
    Annealer& operator[](std::size_t lane) { return *lanes_[lane]; }

    /// Keeps the first `first` annealers, and of the others the best `kept`. Drops the rest.
    void keep(std::size_t kept, std::size_t first = 0) {
        std::stable_sort(
            lanes_.begin() + static_cast<std::ptrdiff_t>(first), lanes_.end(),
            [&](const auto& a, const auto& b) { return a->best().better_than(b->best(), budget_); });
        for (; lanes_.size() > first + kept; lanes_.pop_back()) merge(*lanes_.back());
    }

    /// Returns the best result of all annealers, including those that were dropped.
    PortfolioResult result() {
        for (const auto& lane : lanes_) merge(*lane);
        return std::move(result_);
    }

  private:
    void merge(const Annealer& lane) {
        if (lane.best().better_than(result_.best, budget_)) result_.best = lane.best();
        result_.smallest_peak = std::min(result_.smallest_peak, lane.smallest_peak());
        result_.moves += lane.moves();
    }

    const std::int64_t budget_;
    std::vector<std::unique_ptr<Annealer>> lanes_;
    PortfolioResult result_;
};

// A thread ends after `kPatience` times as many moves as it took to find its best schedule. If it found this
// schedule early, a least number of moves is multiplied instead: `kCyclesToFind` times those of the first
// cycle, plus `kCoolingsToFind` times those of a cooling (`kMovesToCool`). A schedule only counts as better
// if its time is less by the share `kBetter`.
constexpr double kPatience = 5;
constexpr double kCyclesToFind = 20;
constexpr double kCoolingsToFind = 20;
constexpr double kBetter = 1e-5;

constexpr double kTrialShare = 0.25;  // length of a trial, as a share of the first cycle
constexpr std::size_t kTrialsKept = 2;

class Portfolio {
  public:
    Portfolio(const FlatGraph& graph, const Candidate& start, const PortfolioTask& task,
              const AnnealingOptions& options, const Deadline& deadline)
        : graph_(graph), start_(start), task_(task), options_(options), deadline_(deadline), shared_(start) {}

    PortfolioResult run();

  private:
    /// The state of one thread.
    struct Worker {
        int id = 0;
        std::uint64_t seed = 0;
        double started = 0;       ///< share of the time limit that had passed when the thread started
        std::uint64_t lanes = 0;  ///< number of lanes that were started
        std::uint64_t moves = 0;
        Candidate best{};            ///< best schedule; replaced only by one that is better by `kBetter`
        std::uint64_t found_at = 0;  ///< number of moves until `best` was found
    };

    PortfolioResult work(int worker);
    RunSequence start_of(std::size_t cycle, const RunSequence& best, Random& random) const;
    std::unique_ptr<Annealer> annealer_from(const Candidate& start, Worker& worker) const;
    bool try_seeds(Lanes& lanes, Worker& worker);
    void race(Lanes& lanes, Worker& worker);
    bool run_cycle(Annealer& lane, const RunSequence& from, double planned, std::size_t cycle,
                   Worker& worker);
    bool is_race_over(const Worker& worker) const;
    void note_best(const Candidate& found, Worker& worker) const;
    bool has_stagnated(const Worker& worker) const;
    bool publish(int worker, const Candidate& found);
    double heat_of(std::size_t cycle, std::uint64_t moves) const;
    std::uint64_t next_cycle(double planned, std::uint64_t done, double started) const;

    const FlatGraph& graph_;
    const Candidate& start_;
    const PortfolioTask& task_;
    const AnnealingOptions& options_;
    const Deadline& deadline_;
    std::mutex mutex_;
    Candidate shared_;  ///< best schedule of all threads so far, for reports; under the mutex
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
    Worker own{.id = worker,
               .seed = task_.seed + kSeedStride * static_cast<std::uint64_t>(worker),
               .started = deadline_.fraction(),
               .best = start_};
    Lanes lanes(start_, task_.budget);
    lanes.add(annealer_from(start_, own));
    for (const Candidate& other : task_.others) lanes.add(annealer_from(other, own));
    if (try_seeds(lanes, own)) race(lanes, own);
    return lanes.result();
}

std::unique_ptr<Annealer> Portfolio::annealer_from(const Candidate& start, Worker& worker) const {
    const std::uint64_t seed = worker.seed + kLaneStride * worker.lanes++;
    return std::make_unique<Annealer>(graph_, task_.budget, start, options_, seed, task_.repeats);
}

// Runs the trials (`PortfolioTask::trials`). Returns false if the search of this thread is over.
bool Portfolio::try_seeds(Lanes& lanes, Worker& worker) {
    const std::size_t others = lanes.size();
    for (int trial = 0; trial < task_.trials && !is_race_over(worker); ++trial) {
        lanes.add(annealer_from(Candidate::of(graph_, required_once(graph_)), worker));
        Annealer& lane = lanes[lanes.size() - 1];
        if (!run_cycle(lane, lane.best().runs, kTrialShare * options_.first_cycle, 0, worker)) return false;
        lanes.keep(kTrialsKept, others);
    }
    return true;
}

void Portfolio::race(Lanes& lanes, Worker& worker) {
    Random random(task_.seed ^ static_cast<std::uint64_t>(worker.id));
    double planned = options_.first_cycle;
    for (std::size_t cycle = 0;; ++cycle) {
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            const RunSequence from = start_of(cycle, lanes[i].best().runs, random);
            if (!run_cycle(lanes[i], from, planned, cycle, worker)) return;
            note_best(lanes[i].best(), worker);
            if (is_race_over(worker)) lanes.keep(1);
        }
        if (cycle + 1 >= kRoundsTogether) lanes.keep((lanes.size() + 1) / 2);
        if (lanes.size() == 1 && has_stagnated(worker)) return;
        planned = std::min(planned * options_.cycle_growth, kLongestCycle);
    }
}

void Portfolio::note_best(const Candidate& found, Worker& worker) const {
    const auto bit = static_cast<std::int64_t>(kBetter * static_cast<double>(found.time));
    const bool fits = worker.best.peak <= task_.budget;
    if (fits && (found.peak > task_.budget || found.time + bit >= worker.best.time)) return;
    worker.best = found;
    worker.found_at = worker.moves;
}

bool Portfolio::has_stagnated(const Worker& worker) const {
    if (options_.max_moves > 0 || worker.best.peak > task_.budget) return false;
    const double cooling = kMovesToCool * graph_.op_count;
    const double least = kCyclesToFind * options_.first_cycle + kCoolingsToFind * cooling;
    const double found = std::max(least, static_cast<double>(worker.found_at));
    return static_cast<double>(worker.moves) >= kPatience * found;
}

// Runs one cycle of a lane. Returns false if the search of this thread is over.
bool Portfolio::run_cycle(Annealer& lane, const RunSequence& from, double planned, std::size_t cycle,
                          Worker& worker) {
    const std::uint64_t moves = next_cycle(planned, worker.moves, worker.started);
    if (moves == 0) return false;
    worker.moves += moves;
    return lane.run_cycle_from(from, moves, heat_of(cycle, moves), deadline_,
                               [&](const Candidate& found) { return publish(worker.id, found); });
}

bool Portfolio::is_race_over(const Worker& worker) const {
    if (options_.max_moves > 0)
        return static_cast<double>(worker.moves) > kRaceShare * static_cast<double>(options_.max_moves);
    return deadline_.fraction() - worker.started > kRaceShare * (1 - worker.started);
}

RunSequence Portfolio::start_of(std::size_t cycle, const RunSequence& best, Random& random) const {
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
    // With a limit on the moves, the other threads continue, so that their results do not depend on which
    // thread was first.
    return !own && (options_.max_moves > 0 || !reached_);
}

double Portfolio::heat_of(std::size_t cycle, std::uint64_t moves) const {
    const double cooled = static_cast<double>(moves) / (kMovesToCool * std::max(graph_.op_count, 1));
    return kHeats[cycle % std::size(kHeats)] * std::clamp(cooled, kLeastHeat, 1.0);
}

// Returns the number of moves of the next cycle. A cycle that is cut off before it has cooled is of little
// use. So the last cycle gets the moves that are left; without a limit on the moves, it gets as many as the
// remaining time probably allows.
std::uint64_t Portfolio::next_cycle(double planned, std::uint64_t done, double started) const {
    const std::uint64_t moves = static_cast<std::uint64_t>(planned);
    if (options_.max_moves > 0)
        return std::min(moves, options_.max_moves - std::min(done, options_.max_moves));
    const double now = deadline_.fraction();
    if (done == 0 || now <= started) return moves;
    const double left = static_cast<double>(done) / (now - started) * (1 - now);
    // If too little time would be left for another cycle, this cycle takes all the time that is left.
    return left < 2 * planned ? static_cast<std::uint64_t>(left) + 1 : moves;
}

}  // namespace

PortfolioResult anneal_portfolio(const FlatGraph& graph, const Candidate& start, const PortfolioTask& task,
                                 const AnnealingOptions& options, const Deadline& deadline) {
    return Portfolio(graph, start, task, options, deadline).run();
}

}  // namespace rematlas::annealing
