#include "core/solvers/annealing/anneal.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rematlas::annealing {

namespace {

constexpr int kClockPeriod = 32;  // number of moves between looks at the clock; a move takes 1 us to 100 us

}  // namespace

Annealer::Annealer(const FlatGraph& graph, std::int64_t budget, Candidate start,
                   const AnnealingOptions& options, std::uint64_t seed, const Repeats* repeats)
    : graph_(graph),
      options_(options),
      random_(seed),
      profile_(graph, budget, start.runs),
      proposals_(graph, profile_, random_, repeats),
      best_(std::move(start)),
      smallest_peak_(best_.peak),
      smallest_excess_(profile_.excess()),
      time_scale_(1.0 / static_cast<double>(std::max<std::int64_t>(graph.base_time, 1))),
      excess_scale_(1.0 / static_cast<double>(std::max<std::int64_t>(budget, 1))) {}

bool Annealer::run_cycle_from(const RunSequence& runs, std::uint64_t moves, double heat,
                              const Deadline& deadline, const Report& report) {
    profile_.reset(profile_.budget(), runs);
    const double unit = mean_rerun_time() * time_scale_;
    const double hot = options_.start_temperature * heat * unit;
    const double cold = std::min(hot, options_.end_temperature * unit);
    const double cooling = std::log(cold / hot) / static_cast<double>(std::max<std::uint64_t>(moves, 1));
    for (std::uint64_t i = 0; i < moves; ++i, ++moves_) {
        if (i % kClockPeriod == 0) {
            temperature_ = hot * std::exp(cooling * static_cast<double>(i));
            if (deadline.passed()) return false;
            if ((improved_ || i % 4096 == 0) && !report(best_)) return false;
            improved_ = false;
        }
        step();
    }
    return !improved_ || report(best_);
}

void Annealer::step() {
    const std::int64_t time = profile_.time();
    const std::int64_t excess = profile_.excess();
    const double allowed = -temperature_ * std::log(random_.unit());
    const bool changed = proposals_.propose(acceptance(allowed));
    penalty_.begin_move();
    bool accepted = false;
    if (changed) {
        const double change =
            static_cast<double>(profile_.time() - time) * time_scale_ +
            penalty_.value() * static_cast<double>(profile_.excess() - excess) * excess_scale_;
        accepted = change <= allowed;
    }
    if (accepted) {
        profile_.commit();
        note_state();
    } else {
        profile_.undo();
    }
    penalty_.end_move(profile_.excess() == 0);
}

Acceptance Annealer::acceptance(double allowed) const {
    const double most = static_cast<double>(profile_.time()) + allowed / time_scale_;
    return {.time = static_cast<std::int64_t>(std::min(most, 9e18)) + 1,
            .time_per_byte = penalty_.value() * excess_scale_ / time_scale_};
}

void Annealer::note_state() {
    const bool best_fits = best_.peak <= profile_.budget();
    if (profile_.excess() == 0) {
        if (best_fits && profile_.time() >= best_.time) return;
        best_ = {profile_.sequence(), profile_.time(), profile_.peak()};
        smallest_peak_ = std::min(smallest_peak_, best_.peak);
        smallest_excess_ = 0;
        improved_ = true;
    } else if (!best_fits && profile_.excess() < smallest_excess_) {
        smallest_excess_ = profile_.excess();
        const std::int64_t peak = profile_.peak();
        smallest_peak_ = std::min(smallest_peak_, peak);
        best_ = {profile_.sequence(), profile_.time(), peak};
    }
}

double Annealer::mean_rerun_time() const {
    double sum = 0, count = 0;
    for (const RunProfile::Node run : profile_.repeated()) {
        const std::int64_t time = graph_.time[profile_.op(run)];
        sum += static_cast<double>(time);
        count += time > 0;
    }
    if (count > 0) return sum / count;
    for (int op = 0; op < graph_.op_count; ++op) {
        if (!graph_.recomputable[op] || graph_.time[op] == 0) continue;
        sum += static_cast<double>(graph_.time[op]);
        count += 1;
    }
    return count > 0 ? sum / count : 1;
}

}  // namespace rematlas::annealing
