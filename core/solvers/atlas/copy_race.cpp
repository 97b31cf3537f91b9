#include "core/solvers/atlas/copy_race.h"

#include <algorithm>
#include <utility>

namespace rematlas {

namespace {

using annealing::CopyAnnealer;
using annealing::CopyGraph;
using annealing::CopyState;

constexpr double kCopyRaceShare =
    0.5;  // the best lane continues alone after this share of the time that was left at the race's start
constexpr double kFirstRoundShare = 0.4;  // share of the race's time that the first round takes
constexpr int kProbeMoves = 1000;         // number of moves by which the time of a move is measured

constexpr double kCopyPrices[] = {0.01, 0.003, 0.03};
constexpr double kCopyHeats[] = {1, 0.3, 3, 0.1};
constexpr double kMovesToCoolCopies = 100;  // per op; a cycle with fewer moves starts at a lower heat
constexpr double kLeastCopyHeat = 0.03;
constexpr std::uint64_t kLaneSeedStride = 0x9e3779b97f4a7c15u;
constexpr double kCopyPatience =
    5;  // a factor: the race ends after this factor times the moves made until the best answer was found
constexpr double kLeastCycles = 40;

constexpr double kFirstParts[] = {0.92, 0.84,
                                  0.76};  // times by which the host must be done, as shares of the best time
constexpr double kFirstStepDown = 0.04;
constexpr double kLeastStepDown = 0.004;
constexpr std::size_t kCyclesToCatchUp = 2;

/// Returns the total time of all updates on the host, which run one after the other.
Nanoseconds time_on_host(const CopyGraph& graph) {
    std::int64_t time = 0;
    for (const annealing::HostUpdates::Run& run : graph.host.runs) time += run.time;
    return Nanoseconds(time);
}

}  // namespace

bool CopyIncumbent::offer(const Solution& found) {
    if (best && best->time <= found.time) return false;
    best = found;
    best->status = Status::feasible;
    best->bound.reset();
    found_at = moves;
    if (progress_)
        progress_({.overhead = best->overhead,
                   .peak = best->peak,
                   .bound = {},
                   .fraction_done = deadline_.fraction()});
    return true;
}

void CopyIncumbent::take(CopyAnnealer& lane) {
    if (lane.best() && offer(*lane.best())) state = lane.best_state();
    if (best) return;
    if (const auto peak = lane.smallest_peak(); peak && *peak < smallest.value_or(*peak + Bytes(1)))
        smallest = peak;
}

CopyRace::CopyRace(const Problem& problem, Bytes budget, const Limits& limits,
                   const AnnealingOptions& options, const Deadline& deadline, CopyIncumbent& incumbent)
    : problem_(problem),
      budget_(budget),
      limits_(limits),
      options_(options),
      deadline_(deadline),
      incumbent_(incumbent),
      repeats_(annealing::repeats_of(problem.graph)),
      step_(kFirstStepDown) {}

bool CopyRace::is_over() const {
    return deadline_.passed() || (incumbent_.best && incumbent_.best->time <= least_time_);
}

void CopyRace::add(const CopyGraph& graph, const CopyState& state) {
    if (incumbent_.best && time_on_host(graph) >= incumbent_.best->time) return;
    const std::size_t number = begun_++;
    lanes_.push_back(std::make_unique<CopyAnnealer>(
        problem_, graph, state,
        annealing::CopyAnnealing{.budget = budget_,
                                 .contended = number % 2 == 1,
                                 .price = kCopyPrices[number % std::size(kCopyPrices)],
                                 .seed = limits_.seed + options_.seed + kLaneSeedStride * number,
                                 .repeats = &repeats_},
        options_));
    lanes_.back()->make_room(deadline_);
    incumbent_.take(*lanes_.back());
}

void CopyRace::run(const RaceTask& task) {
    least_time_ = task.least_time;
    if (task.on_host)
        for (const double part : kFirstParts)
            if (!is_over()) share_with_host(*task.on_host, part);
    if (is_over() || lanes_.empty()) return;
    const double started = deadline_.fraction();
    planned_ = first_cycle();
    bool plain_again = options_.max_moves == 0 && task.plain_again;
    for (std::size_t round = 0; !is_over(); ++round) {
        for (Lane& lane : lanes_)
            if (!run_cycle(*lane, round)) return;
        const bool last = is_decided(started);
        // At least two lanes remain until the race is decided, because the worse lane can still win.
        keep_the_best(last ? 1 : std::max<std::size_t>((lanes_.size() + 1) / 2, 2));
        if (last && std::exchange(plain_again, false)) task.plain_again(*this);
        if (task.on_host) step_towards_less(*task.on_host);
        if (lanes_.size() == 1 && has_stagnated()) return;
        planned_ *= options_.cycle_growth;
    }
}

/// Returns how many moves each lane makes in the first cycle. For a large graph, this number is smaller than
/// in the options, so that the first round takes only a part of the race.
double CopyRace::first_cycle() const {
    const double most = options_.first_cycle;
    if (options_.max_moves > 0 || most <= kProbeMoves) return most;
    const double before = deadline_.fraction();
    lanes_.front()->run_cycle(kProbeMoves, kLeastCopyHeat, deadline_, [](const Solution&) { return true; });
    const double a_move = (deadline_.fraction() - before) / kProbeMoves;
    const double part = kFirstRoundShare * kCopyRaceShare * (1 - deadline_.fraction());
    return std::clamp(part / std::max(a_move * static_cast<double>(lanes_.size()), 1e-12),
                      double{kProbeMoves}, most);
}

/// Runs one cycle of a lane. Returns false if the race is over.
bool CopyRace::run_cycle(CopyAnnealer& lane, std::size_t round) {
    auto moves = static_cast<std::uint64_t>(planned_);
    if (options_.max_moves > 0)
        moves = std::min(moves, options_.max_moves - std::min(incumbent_.moves, options_.max_moves));
    if (moves == 0) return false;
    const double cooled =
        static_cast<double>(moves) / (kMovesToCoolCopies * std::max(problem_.flat.op_count, 1));
    const double heat = kCopyHeats[round % std::size(kCopyHeats)] * std::clamp(cooled, kLeastCopyHeat, 1.0);
    const bool goes_on = lane.run_cycle(moves, heat, deadline_, [this, &lane](const Solution&) {
        incumbent_.take(lane);
        return !is_over();
    });
    incumbent_.take(lane);
    incumbent_.moves += moves;
    return goes_on;
}

void CopyRace::keep_the_best(std::size_t most) {
    std::stable_sort(lanes_.begin(), lanes_.end(),
                     [](const Lane& a, const Lane& b) { return a->rank() < b->rank(); });
    lanes_.resize(std::min(lanes_.size(), most));
}

bool CopyRace::is_decided(double started) const {
    if (options_.max_moves > 0)
        return static_cast<double>(incumbent_.moves) >
               kCopyRaceShare * static_cast<double>(options_.max_moves);
    return deadline_.fraction() > started + kCopyRaceShare * (1 - started);
}

bool CopyRace::has_stagnated() const {
    if (options_.max_moves > 0 || !incumbent_.best) return false;
    const double least =
        std::max(kLeastCycles * options_.first_cycle, static_cast<double>(incumbent_.found_at));
    return static_cast<double>(incumbent_.moves) > kCopyPatience * least;
}

/// Adds a lane that starts from the best answer. The updates on the host are chosen so that they are done
/// within the share `part` of the answer's time.
void CopyRace::share_with_host(const HostChoice& choice, double part) {
    if (!incumbent_.best) return;
    shared_from_ = incumbent_.best->time;
    const Nanoseconds time(static_cast<std::int64_t>(part * static_cast<double>(shared_from_->value)));
    CopyGraph graph = annealing::copy_graph(problem_, budget_, choice.done_by(time));
    if (graph.host.runs.empty()) return;
    shared_.push_back(std::move(graph));
    add(shared_.back(), annealing::start_of(problem_, shared_.back(), incumbent_.best->steps));
}

/// Adds a lane in which the host is done before the end of the best answer, earlier by the share `step_`. If
/// the last such lane gained nothing, halves `step_` first.
void CopyRace::step_towards_less(const HostChoice& choice) {
    if (is_over() || !incumbent_.best || step_ < kLeastStepDown) return;
    if (shared_from_ && incumbent_.best->time >= *shared_from_) step_ /= 2;
    const std::size_t before = lanes_.size();
    share_with_host(choice, 1 - step_);
    for (std::size_t cycle = 0; lanes_.size() > before && cycle < kCyclesToCatchUp; ++cycle)
        if (!run_cycle(*lanes_.back(), cycle)) return;
}

}  // namespace rematlas
