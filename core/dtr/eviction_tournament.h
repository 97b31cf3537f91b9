// Which of many storages has the least score, as time goes on: an index over the candidates of an eviction
// pool.
//
//     EvictionTournament tournament(true);
//     tournament.set(0, {.cost = 8, .bytes = 2, .last_use = 3, .order = 0});
//     tournament.set(1, {.cost = 9, .bytes = 4, .last_use = 5, .order = 1});
//     const int place = tournament.winner(10);
//
// The index is a tree of matches. Each match knows which of two subtrees' winners has the lesser score, and
// until when that is sure to stay so. Scores fall as storages grow stale, but two of them change places only
// once. So a match is played again only if a candidate below it was set or it is no longer sure.
#pragma once

#include <cstdint>
#include <vector>

namespace rematlas {

/// A score is cost / (bytes x time since the last use), or cost / bytes without staleness.
struct EvictionCandidate {
    double cost = 0;
    double bytes = 0;
    std::int64_t last_use = 0;
    std::uint64_t order = 0;  ///< differs between candidates

    /// Infinite if the divisor is 0.
    double score(std::int64_t now, bool staleness) const;
    /// Whether this candidate goes before the other one. Of equal scores the candidate of the highest order
    /// goes first; of scores of 0 that of the lowest.
    bool goes_before(const EvictionCandidate& other, std::int64_t now, bool staleness) const;
};

class EvictionTournament {
  public:
    explicit EvictionTournament(bool staleness) : staleness_(staleness) {}

    /// Cost: near constant. The matches above the place are forgotten, up to the first one that is forgotten
    /// already.
    void set(int place, const EvictionCandidate& candidate);  ///< places without gaps: at most one new
    void remove_last();
    const EvictionCandidate& at(int place) const { return candidates_[place]; }
    /// The place that goes first, exactly as if all were compared; there must be one. `now` is never before
    /// a last use, or before the `now` of an earlier call. Cost: log(places) for each place that was set
    /// since the last call.
    int winner(std::int64_t now);

  private:
    struct Match {
        int winner = -1;
        std::int64_t until = kUnknown;
    };
    static constexpr std::int64_t kUnknown = -1;

    void forget(int place);
    Match play(std::size_t match, std::int64_t now);
    std::int64_t sure_until(const EvictionCandidate& first, const EvictionCandidate& second,
                            std::int64_t now) const;

    bool staleness_;
    std::vector<EvictionCandidate> candidates_;
    std::vector<Match> matches_;  // match i is between 2 i and 2 i + 1; places come after all matches
};

}  // namespace rematlas
