// Rotor's dynamic programme with exact bytes: of every part of a chain, every trade-off between memory and
// time.
//
//     RotorTable table(chain.stages, most_bytes, 500);
//     if (table.fill(deadline)) table.curve();
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/solvers/rotor/rotor_chain.h"
#include "core/solving/limits.h"

namespace rematlas {

struct TradeOff {
    std::int64_t bytes = 0;
    std::int64_t time = 0;
};
using TradeOffs = std::vector<TradeOff>;  ///< bytes rise, time falls

/// Which parts of a chain are equal: the same stages one by one, as far as the programme sees them.
class EqualParts {
  public:
    /// Cost: stages^2 / 2, and as many numbers of 4 bytes.
    explicit EqualParts(const std::vector<RotorStage>& stages);

    /// Equal parts have equal numbers, from 0 to `count` - 1.
    int of(int s, int t) const { return part_[static_cast<std::size_t>(t) * (t + 1) / 2 + s]; }
    int count() const { return count_; }

  private:
    std::vector<int> part_;  ///< by last stage, then first stage
    int count_ = 0;
};

/// least_time(s, t, m): least time to go forward from a_(s-1) and to run the groups t .. s within m bytes
/// beside a_(s-1) and what is held for others; stages count from 0. Two tables: in the second (`present`),
/// a_t is there from the start (within the m bytes) and stays until group t has run or is dropped at once.
///
/// As a function of m this is a staircase, kept as the list of its steps: bytes are not rounded, unless a
/// list has more than `slots` steps. Beyond these, memory is rounded up to multiples of the power of two
/// between a 2 * `slots`-th and a `slots`-th of it. What a list holds up to some m depends on nothing above
/// m: tables for different `most_bytes` agree wherever both have an answer.
///
/// Parts whose stages are equal one by one in all bytes and times are equal: they are solved once. A chain of
/// n equal stages has some 2 n parts (those that end at the loss differ from the others) instead of n^2 / 2.
class RotorTable {
  public:
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

    /// `stages` must outlive the table.
    RotorTable(const std::vector<RotorStage>& stages, std::int64_t most_bytes, int slots);

    /// False when the deadline passed before the tables were full. Cost: for each two parts that differ and
    /// make up a third, the length of their lists, much less where few checkpoints are worth it.
    bool fill(const Deadline& deadline);

    /// Of the whole chain.
    const TradeOffs& curve() const { return of(0, last(), false); }
    int last() const { return n_ - 1; }

    std::int64_t least_time(int s, int t, std::int64_t m, bool present) const;

    /// What reaches the least time: -1 where stage s keeps what its group reads; otherwise the stage after
    /// the checkpoint.
    int choice(int s, int t, std::int64_t m, bool present) const;

    /// Whether a_t is of no use where it is there: the part without it is as good.
    bool dropped(int s, int t, std::int64_t m) const {
        return least_time(s, t, m, false) <= least_time(s, t, m, true);
    }

  private:
    /// One way to do a part: two others, the first above `held` bytes, and `time` on top, in no less than
    /// `least` bytes.
    struct Way {
        const TradeOffs& above;
        const TradeOffs& below;
        std::int64_t held = 0, time = 0, least = 0;

        std::int64_t time_in(std::int64_t m) const;
    };

    const TradeOffs& of(int s, int t, bool present) const {
        return (present ? present_ : absent_)[static_cast<std::size_t>(parts_.of(s, t))];
    }
    std::int64_t held(int t, bool present) const;
    Way keeping(int s, int t, bool present) const;
    bool fill_part(int s, int t, bool present, const Deadline& deadline);
    void offer(const Way& way);
    void merge_better();
    TradeOffs rounded_where_long() const;

    const std::vector<RotorStage>& stages_;
    int n_;
    std::int64_t most_bytes_;
    std::size_t slots_;
    EqualParts parts_;
    std::vector<TradeOffs> absent_, present_;  ///< by `parts_`
    TradeOffs part_, better_, merged_;         ///< of the part under way
};

}  // namespace rematlas
