// The moves of class Moves that choose a tensor to evict.
#include "core/solvers/annealing/moves.h"

namespace rematlas::annealing {
namespace {

constexpr int kMostGapSamples = 100;   // most tries to find tensors that are kept but not used during a run
constexpr double kInPlaceShare = 0.3;  // probability that `evict_at` tries to make the run in-place first

}  // namespace

bool Moves::evict_over() {
    if (profile_.over_count() == 0) return false;
    return evict_at(profile_.over_run(random_.below(static_cast<std::size_t>(profile_.over_count()))));
}

// Returns how many random candidates a tournament has. A third of the tournaments have only one, so that each
// candidate can win.
int Moves::tournament_size() {
    return random_.below(3) == 0 ? 1 : 2 + random_.below(8);
}

double Moves::eviction_time(int tensor, Node before) const {
    const int op = graph_.producer[tensor];
    double time = static_cast<double>(graph_.time[op]) + 1;
    for (const int input : graph_.inputs[op])
        if (!profile_.alive_before(input, before))
            time += static_cast<double>(graph_.time[graph_.producer[input]]);
    return time;
}

// Samples gaps (times between two events of a tensor) that contain the run and in which the tensor is kept.
// Returns the gap in which an eviction of the tensor costs the least time per byte.
std::optional<Moves::Gap> Moves::gap_across(Node run) {
    if (run == RunProfile::kNone || evictable_.empty()) return std::nullopt;
    std::optional<Gap> best;
    double best_ratio = 0;
    int wanted = tournament_size();
    for (int tries = 0; tries < kMostGapSamples && wanted > 0; ++tries) {
        const int tensor = evictable_[random_.below(evictable_.size())];
        const auto events = profile_.events(tensor);
        const std::size_t at = profile_.first_at_or_after(tensor, run);
        // Skips the tensor if nothing needs it after the run, or if the run itself reads or makes it.
        if (at == 0 || at == events.size() || events[at] == run || !profile_.is_use(tensor, events[at]))
            continue;
        --wanted;
        const double ratio = eviction_time(tensor, events[at]) / static_cast<double>(graph_.bytes[tensor]);
        if (best && ratio >= best_ratio) continue;
        best = {tensor, at};
        best_ratio = ratio;
    }
    return best;
}

bool Moves::evict_at(Node run) {
    if (run != RunProfile::kNone && !graph_.inplace_pairs(profile_.op(run)).empty() &&
        random_.chance(kInPlaceShare) && run_in_place(run))
        return true;
    const std::optional<Gap> gap = gap_across(run);
    return gap && evict_gap(gap->tensor, gap->use);
}

// Evicts the inputs that the op can overwrite, if they are kept after the run. Returns false if none of them
// is kept, or if an eviction fails.
bool Moves::run_in_place(Node run) {
    bool changed = false;
    evicts_alone_ = false;
    for (const FlatGraph::Pair& pair : graph_.inplace_pairs(profile_.op(run))) {
        const auto events = profile_.events(pair.in);
        const std::size_t next = profile_.index_of(pair.in, run) + 1;
        if (next == events.size() || !profile_.is_use(pair.in, events[next])) continue;
        if (!evict_gap(pair.in, next)) return false;
        changed = true;
    }
    return changed;
}

bool Moves::evict_somewhere() {
    if (evictable_.empty()) return false;
    Gap best;
    double best_ratio = 0;
    for (int draws = tournament_size(), tries = 0; draws > 0 && tries < kMostGapSamples; ++tries) {
        const int tensor = evictable_[random_.below(evictable_.size())];
        const auto events = profile_.events(tensor);
        if (events.size() < 2) continue;
        const std::size_t at = 1 + static_cast<std::size_t>(random_.below(events.size() - 1));
        if (!profile_.is_use(tensor, events[at])) continue;
        --draws;
        const double ratio = eviction_time(tensor, events[at]) / static_cast<double>(graph_.bytes[tensor]);
        if (best.tensor >= 0 && ratio >= best_ratio) continue;
        best = {tensor, at};
        best_ratio = ratio;
    }
    return best.tensor >= 0 && evict_gap(best.tensor, best.use);
}

}  // namespace rematlas::annealing
