#include "core/dtr/eviction_tournament.h"

#include <algorithm>
#include <limits>

namespace rematlas {
namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

}  // namespace

double EvictionCandidate::score(std::int64_t now, bool staleness) const {
    const double below = staleness ? bytes * static_cast<double>(now - last_use) : bytes;
    return below > 0 ? cost / below : std::numeric_limits<double>::infinity();
}

bool EvictionCandidate::goes_before(const EvictionCandidate& other, std::int64_t now, bool staleness) const {
    const double own = score(now, staleness), others = other.score(now, staleness);
    if (own != others) return own < others;
    return (order < other.order) == (own == 0);
}

void EvictionTournament::set(int place, const EvictionCandidate& candidate) {
    const auto at = static_cast<std::size_t>(place);
    if (at < candidates_.size()) {
        candidates_[at] = candidate;
    } else {
        candidates_.push_back(candidate);
    }
    if (candidates_.size() > matches_.size())
        matches_.assign(std::max<std::size_t>(2 * matches_.size(), 2), Match());
    forget(place);
}

void EvictionTournament::remove_last() {
    candidates_.pop_back();
    forget(static_cast<int>(candidates_.size()));
}

void EvictionTournament::forget(int place) {
    for (std::size_t match = (matches_.size() + static_cast<std::size_t>(place)) / 2;
         match > 0 && matches_[match].until != kUnknown; match /= 2)
        matches_[match].until = kUnknown;
}

int EvictionTournament::winner(std::int64_t now) {
    return play(1, now).winner;
}

EvictionTournament::Match EvictionTournament::play(std::size_t match, std::int64_t now) {
    if (match >= matches_.size()) {
        const std::size_t place = match - matches_.size();
        return {place < candidates_.size() ? static_cast<int>(place) : -1, kForever};
    }
    if (matches_[match].until >= now) return matches_[match];
    const Match left = play(2 * match, now), right = play(2 * match + 1, now);
    Match& played = matches_[match];
    played = {left.winner, std::min(left.until, right.until)};
    if (right.winner < 0) return played;  // places fill from the left, so the right subtree has no candidate
    const EvictionCandidate &a = candidates_[left.winner], &b = candidates_[right.winner];
    const bool left_wins = a.goes_before(b, now, staleness_);
    if (!left_wins) played.winner = right.winner;
    played.until = std::min(played.until, left_wins ? sure_until(a, b, now) : sure_until(b, a, now));
    return played;
}

/// `first` must go before `second` at `now`. Returns a time until which this certainly remains so, or `now`
/// if the scores are close. In real numbers, `first` goes before `second` at time t while
/// r1 (t - l2) < r2 (t - l1), with r: cost / bytes, l: last use. Scores are rounded, so the order is certain
/// only if the inequality holds by a margin far above the rounding errors.
std::int64_t EvictionTournament::sure_until(const EvictionCandidate& first, const EvictionCandidate& second,
                                            std::int64_t now) const {
    if (!staleness_ || second.bytes == 0) return kForever;
    if (first.last_use == now || second.last_use == now) return now;  // a score is infinite at `now`
    if (first.last_use == second.last_use && first.cost == second.cost && first.bytes == second.bytes)
        return kForever;                   // the scores stay equal, so `order` decides
    if (first.cost == 0) return kForever;  // 0 is the least score and does not change
    constexpr double margin = 1e-13, rounding = 1e-15;
    const double r1 = first.cost / first.bytes, r2 = second.cost / second.bytes * (1 - margin);
    const auto since_second = static_cast<double>(now - second.last_use);
    const auto since_first = static_cast<double>(now - first.last_use);
    if (r1 * since_second > r2 * since_first * (1 - margin)) return now;
    if (r1 <= r2 * (1 - margin)) return kForever;
    if (r1 <= r2) return now;
    const double close = rounding * r1 / (r1 - r2);
    const double sure =
        r2 * static_cast<double>(second.last_use - first.last_use) / (r1 - r2) * (1 - margin - 8 * close);
    if (sure > 1e18) return kForever / 4;
    return std::max(now, second.last_use + static_cast<std::int64_t>(sure));
}

}  // namespace rematlas
