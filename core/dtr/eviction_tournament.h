// Finds the storage with the least score as time passes: an index over the candidates of an eviction pool.
//
//     EvictionTournament tournament(true);
//     tournament.set(0, {.cost = 8, .bytes = 2, .last_use = 3, .order = 0});
//     tournament.set(1, {.cost = 9, .bytes = 4, .last_use = 5, .order = 1});
//     const int place = tournament.winner(10);
//
// The index is a tree of matches. Each match knows which of the winners of its two subtrees has the lower
// score, and until when this is certain. Scores fall as storages get older, but two storages change their
// order only once. So a match is played again only if a candidate below it was set, or if its result is no
// longer certain.
#pragma once

#include <cstdint>
#include <vector>

namespace rematlas {

/// A score is cost / (bytes x time since the last use), or cost / bytes without staleness.
struct EvictionCandidate {
    double cost = 0;
    double bytes = 0;
    std::int64_t last_use = 0;
    std::uint64_t order = 0;  ///< unique to each candidate

    /// Returns the score; infinite if the divisor is 0.
    double score(std::int64_t now, bool staleness) const;
    /// Says whether this candidate goes before the other one, that is, is evicted first. Among equal scores
    /// the candidate with the highest `order` goes first; among scores of 0, the one with the lowest.
    bool goes_before(const EvictionCandidate& other, std::int64_t now, bool staleness) const;
};

class EvictionTournament {
  public:
    explicit EvictionTournament(bool staleness) : staleness_(staleness) {}

    /// Sets the candidate at a place. `place` must be at most the number of candidates, because there are no
    /// gaps. Marks the results of the matches above the place as unknown, up to the first match that is
    /// already unknown. Cost: nearly constant.
    void set(int place, const EvictionCandidate& candidate);
    void remove_last();
    const EvictionCandidate& at(int place) const { return candidates_[place]; }
    /// Returns the place whose candidate goes first, exactly as if all candidates were compared. There must
    /// be a candidate. `now` must not be before any last use or before the `now` of an earlier call. Cost:
    /// log(places) for each place that was set since the last call.
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
    std::vector<Match> matches_;  // children of match i: 2 i and 2 i + 1; places come after the matches
};

}  // namespace rematlas
