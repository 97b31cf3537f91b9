#include "core/solvers/offmate/heaviest_away.h"

#include <algorithm>

namespace rematlas::offmate {
namespace {

class Mender {
  public:
    Mender(const FlatGraph& flat, const Lifetimes& lives, std::int64_t least_copy, std::vector<char>& away)
        : flat_(flat), lives_(lives), least_copy_(least_copy), away_(away), memory_(lives.memory(away)) {
        clock_.push_back(0);
        for (const PlacedRun& run : lives.runs())
            clock_.push_back(clock_.back() + (run.on_host ? 0 : flat.time[run.op]));
    }

    bool mend(std::int64_t budget) {
        while (true) {
            const auto worst = std::max_element(memory_.begin(), memory_.end());
            if (*worst <= budget) return true;
            const std::int32_t gap = best_at(static_cast<int>(worst - memory_.begin()), *worst - budget);
            if (gap < 0) return false;
            take(gap);
        }
    }

  private:
    /// If the tensor is away in the gap `g`, it may have to be away in another gap, too: a resident that
    /// lives on the host is away in both its first and its last gap. Returns this other gap; -1 if there is
    /// none.
    std::int32_t partner(std::int32_t g) const {
        const Gap& gap = lives_.gaps[g];
        if (!lives_.is_resident(gap.tensor)) return -1;
        const std::int32_t first = lives_.first_gap(gap.tensor), last = lives_.last_gap(gap.tensor);
        if (first == last) return -1;
        return g == first ? last : g == last ? first : -1;
    }

    /// Returns the range of indices in the result of Lifetimes::memory at which the tensor is not counted if
    /// it is away in the gap: the first index, and the one after the last.
    std::pair<int, int> places(const Gap& gap) const {
        const int end = gap.stays_away ? lives_.run_count() + 2 : gap.end + 1;
        return {gap.begin == kStart ? 0 : gap.begin + 2, end};
    }

    std::int32_t best_at(int place, std::int64_t missing) const {
        std::int32_t best = -1;
        double most = -1;
        for (std::size_t g = 0; g < lives_.gaps.size(); ++g) {
            const Gap& gap = lives_.gaps[g];
            const auto [from, behind] = places(gap);
            if (away_[g] || !gap.movable || place < from || place >= behind) continue;
            const std::int64_t bytes = flat_.bytes[gap.tensor];
            const double idle = static_cast<double>(1 + clock_[static_cast<std::size_t>(gap.end)] -
                                                    clock_[static_cast<std::size_t>(gap.begin + 1)]);
            double score = idle * static_cast<double>(std::min(bytes, missing));
            if (bytes < least_copy_) score *= 1e-9;
            if (score <= most) continue;
            most = score;
            best = static_cast<std::int32_t>(g);
        }
        return best;
    }

    void take(std::int32_t g) {
        for (const std::int32_t gap : {g, partner(g)}) {
            if (gap < 0 || away_[gap]) continue;
            away_[gap] = 1;
            const auto [from, behind] = places(lives_.gaps[gap]);
            for (int place = from; place < behind; ++place)
                memory_[static_cast<std::size_t>(place)] -= flat_.bytes[lives_.gaps[gap].tensor];
        }
    }

    const FlatGraph& flat_;
    const Lifetimes& lives_;
    const std::int64_t least_copy_;
    std::vector<char>& away_;
    std::vector<std::int64_t> memory_, clock_;
};

}  // namespace

bool mend(const FlatGraph& flat, const Lifetimes& lives, std::int64_t budget, std::int64_t least_copy,
          std::vector<char>& away) {
    return Mender(flat, lives, least_copy, away).mend(budget);
}

}  // namespace rematlas::offmate
