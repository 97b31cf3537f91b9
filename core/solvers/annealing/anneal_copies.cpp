#include "core/solvers/annealing/anneal_copies.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rematlas::annealing {

namespace {

constexpr int kMovesAClock = 32;
constexpr int kMostFailures = 100;  // `make_room` gives up after this many failures in a row
constexpr double kOverBudget = 10;  // added to the rank of a state that exceeds the budget

}  // namespace

CopyAnnealer::CopyAnnealer(const Problem& problem, const CopyGraph& graph, const CopyState& start,
                           const CopyAnnealing& task, const AnnealingOptions& options)
    : problem_(problem),
      graph_(graph),
      task_(task),
      options_(options),
      random_(task.seed),
      profile_(graph.flat, task.budget.value, start.runs),
      copies_(graph, profile_, problem.copies.links, task.contended),
      proposals_(graph, profile_, copies_, random_, task.repeats),
      best_value_(std::numeric_limits<double>::infinity()),
      rank_(std::numeric_limits<double>::infinity()),
      time_scale_(1.0 / static_cast<double>(std::max<std::int64_t>(graph.flat.base_time, 1))),
      excess_scale_(1.0 / static_cast<double>(std::max<std::int64_t>(task.budget.value, 1))) {
    load(start);
    best_state_ = start;
    note_state(cost());
}

void CopyAnnealer::load(const CopyState& state) {
    profile_.reset(task_.budget.value, state.runs);
    // In a profile that was just reset, the handles of the runs are 1, 2, 3, ... in order.
    for (const auto& [tensor, use] : state.aways) {
        const bool end = use == static_cast<std::int32_t>(state.runs.size());
        profile_.set_away(tensor, end ? RunProfile::kEnd : use + 1);
    }
    copies_.settle();
    profile_.commit();
}

CopyState CopyAnnealer::state() const {
    CopyState state{.runs = profile_.sequence(), .aways = {}};
    for (const RunProfile::Away& away : profile_.aways())
        if (away.tensor >= 0)
            state.aways.emplace_back(away.tensor, static_cast<std::int32_t>(copies_.place(away.use)));
    return state;
}

double CopyAnnealer::value(const Cost& cost) const {
    return (static_cast<double>(cost.time) + task_.price * static_cast<double>(cost.copied)) * time_scale_;
}

bool CopyAnnealer::make_room(const Deadline& deadline) {
    for (int failures = 0; failures < kMostFailures && profile_.excess() > 0 && !deadline.passed();) {
        const std::int64_t before = profile_.excess();
        // Offloads a tensor. After many failures in a row, which are due to slow copies, delays runs instead.
        bool better =
            failures < kMostFailures / 2 ? proposals_.send_away_over() : proposals_.wait_for_copies();
        if (better) {
            copies_.settle();
            better = profile_.excess() < before;
        }
        if (better)
            profile_.commit();
        else
            profile_.undo();
        failures = better ? 0 : failures + 1;
    }
    copies_.settle();
    profile_.commit();
    note_state(cost());
    return profile_.excess() == 0;
}

bool CopyAnnealer::run_cycle(std::uint64_t moves, double heat, const Deadline& deadline,
                             const Report& report) {
    load(best_state_);
    // Forgets the values of states that were better only in the model, not in the exact simulation.
    if (best_) best_value_ = value(cost());
    const double unit = mean_rerun_time() * time_scale_;
    const double hot = options_.start_temperature * heat * unit;
    const double cold = std::min(hot, options_.end_temperature * unit);
    const double cooling = std::log(cold / hot) / static_cast<double>(std::max<std::uint64_t>(moves, 1));
    for (std::uint64_t i = 0; i < moves; ++i, ++moves_) {
        if (i % kMovesAClock == 0) {
            temperature_ = hot * std::exp(cooling * static_cast<double>(i));
            if (deadline.passed()) return false;
            if (improved_ && best_ && !report(*best_)) return false;
            improved_ = false;
        }
        step();
    }
    return !(improved_ && best_) || report(*best_);
}

void CopyAnnealer::step() {
    const Cost before = cost();
    const double allowed = -temperature_ * std::log(random_.unit());
    const double most = static_cast<double>(before.time) + allowed / time_scale_;
    const bool changed =
        proposals_.propose({.time = static_cast<std::int64_t>(std::min(most, 9e18)) + 1,
                            .time_per_byte = penalty_.value() * excess_scale_ / time_scale_});
    penalty_.begin_move();
    bool accepted = false;
    if (changed) {
        copies_.settle();
        const Cost after = cost();
        const double change =
            value(after) - value(before) +
            penalty_.value() * static_cast<double>(after.excess - before.excess) * excess_scale_;
        accepted = change <= allowed;
        if (accepted) {
            profile_.commit();
            note_state(after);
        }
    }
    if (!accepted) {
        profile_.undo();
        copies_.recall(before.time, before.copied);
    }
    penalty_.end_move(profile_.excess() == 0);
}

void CopyAnnealer::note_state(const Cost& cost) {
    const double now = value(cost);
    if (cost.excess > 0) {
        const double over = now + kOverBudget + static_cast<double>(cost.excess) * excess_scale_;
        if (std::isinf(best_value_) && over < rank_) {
            rank_ = over;
            best_state_ = state();
        }
        return;
    }
    if (now >= best_value_) return;
    best_value_ = now;
    rank_ = std::min(rank_, now);
    if (play() || !best_) best_state_ = state();
}

/// Simulates the schedule. Returns `std::nullopt` if its copies come too late or do not fit on the host.
std::optional<Simulation> CopyAnnealer::played_of(const EmittedCopies& written) const {
    Result<Simulation> played = simulate(problem_.graph, written.steps, written.homes, problem_.copies.links);
    if (!played) return std::nullopt;
    if (problem_.copies.host_budget && played->host_peak > *problem_.copies.host_budget) return std::nullopt;
    return *std::move(played);
}

/// Simulates the current state. The state becomes the best answer if it fits the budget and is faster than
/// the best answer so far. Returns whether it has become the best answer.
bool CopyAnnealer::play() {
    EmittedCopies written = emit(graph_, profile_, copies_);
    const std::optional<Simulation> played = played_of(written);
    if (!played || played->peak > task_.budget) return false;
    if (best_ && best_->time <= played->time) return false;
    best_ = Solution{.steps = std::move(written.steps),
                     .homes = std::move(written.homes),
                     .time = played->time,
                     .peak = played->peak,
                     .bound = {}};
    best_->overhead = static_cast<double>(played->time.value) * time_scale_;
    improved_ = true;
    return true;
}

std::optional<Bytes> CopyAnnealer::smallest_peak() {
    if (best_) return best_->peak;
    load(best_state_);
    const std::optional<Simulation> played = played_of(emit(graph_, profile_, copies_));
    return played ? std::optional(played->peak) : std::nullopt;
}

double CopyAnnealer::mean_rerun_time() const {
    double sum = 0, count = 0;
    for (int op = 0; op < graph_.real_ops; ++op) {
        if (!graph_.flat.recomputable[op] || graph_.flat.time[op] == 0) continue;
        sum += static_cast<double>(graph_.flat.time[op]);
        count += 1;
    }
    return count > 0 ? sum / count : 1;
}

}  // namespace rematlas::annealing
