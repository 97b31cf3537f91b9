// Rotor's dynamic program with exact bytes: it finds every trade-off between memory and time for every part
// of a chain.
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
using TradeOffs = std::vector<TradeOff>;  ///< sorted: bytes rise, time falls

/// Finds which parts of a chain are equal: their stages are equal one by one in everything that the dynamic
/// program reads.
class EqualParts {
  public:
    /// Cost: stages^2 / 2 steps, and 4 bytes for each step.
    explicit EqualParts(const std::vector<RotorStage>& stages);

    /// Returns the id of the part s .. t, from 0 to `count` - 1. Equal parts have equal ids.
    int of(int s, int t) const { return part_[static_cast<std::size_t>(t) * (t + 1) / 2 + s]; }
    int count() const { return count_; }

  private:
    std::vector<int> part_;  ///< the id of each part, sorted by the part's last stage, then by its first
    int count_ = 0;
};

/// A part s .. t of the chain starts from the input a_(s-1) of stage s. least_time(s, t, m) is the least time
/// to go forward through the part and to run its backward groups t .. s within m bytes. These bytes include
/// neither a_(s-1), nor tensors held for other parts, nor the bytes that the groups above t leave. The first
/// stage is 0. There are two tables. In the second (`present`), a_t exists from the start (within the m
/// bytes) and stays until group t has run, or is dropped at once.
///
/// As a function of m, the least time is a staircase, which is stored as the list of its steps in exact
/// bytes. After the first `slots` steps of a list, a step is left out if it gains little: less than about
/// 1 / (2 `slots`) of the time by which the part exceeds its time with everything kept. The steps up to some
/// m do not depend on anything above m, so tables for different `most_bytes` agree wherever both have an
/// answer. Fewer steps are kept if there are so many parts that the tables would take more than about a GiB.
///
/// Two parts are equal if their stages are equal one by one in all bytes and times; equal parts are solved
/// once. A chain of n equal stages has about 2 n different parts instead of n^2 / 2, because parts that end
/// at the loss differ from all other parts.
class RotorTable {
  public:
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

    /// Which splits of a part into two parts are tried. `all`: all splits. `near`: all splits of a part of at
    /// most 16 stages. For a longer part, only the splits that the tables use for the part without its first
    /// stage or without its last stage. Each of these splits is tried only with at least the bytes with which
    /// those tables first use it. With `near`, any step of a list is left out if it gains little, even one of
    /// the first `slots`. `by_size`: `all` if `splits()` times the largest number of ways of a stage is at
    /// most `kMostSplits`, else `near`.
    enum class Splits { all, near, by_size };

    /// `stages` must outlive the table.
    RotorTable(const std::vector<RotorStage>& stages, std::int64_t most_bytes, int slots,
               Splits splits = Splits::by_size);

    /// Fills the tables. Returns false if the deadline passed before they were full. Cost: `splits()` times
    /// the length of the lists; much less if few checkpoints are useful.
    bool fill(const Deadline& deadline);

    /// Returns the number of splits of all different parts: stages^3 / 6 if all parts differ.
    std::int64_t splits() const { return splits_; }
    bool exhaustive() const { return exhaustive_; }

    static constexpr std::size_t kMostStages = 8192;           ///< for longer chains `EqualParts` alone would
                                                               ///< take more than 128 MiB
    static constexpr std::int64_t kMostSplits = 600'000;       ///< enough for 150 stages that all differ
    static constexpr std::int64_t kStepsOfAll = 33'000'000;    ///< limit on `exact_` * (number of parts): for
                                                               ///< 150 stages that all differ, `exact_` is at
                                                               ///< most 2,900
    static constexpr std::int64_t kFinenessOfAll = 6'000'000;  ///< limit on `fineness_` * (number of parts):
                                                               ///< for 512 stages that all differ,
                                                               ///< `fineness_` is at most 45

    /// Returns the trade-offs of the whole chain.
    const TradeOffs& curve() const { return of(0, last(), false); }
    int last() const { return n_ - 1; }

    std::int64_t least_time(int s, int t, std::int64_t m, bool present) const;

    /// Returns the choice that reaches the least time: the stage after the checkpoint, or -1 - i if stage s
    /// runs by way i and keeps the tensors that its group reads.
    int choice(int s, int t, std::int64_t m, bool present) const;

    /// Returns the bytes that the groups of stages s .. t leave until the end of the step.
    std::int64_t left_by(int s, int t) const { return left_before_[t + 1] - left_before_[s]; }

    /// Says whether it is useless to hold an existing a_t, because the part is as fast without it.
    bool dropped(int s, int t, std::int64_t m) const {
        return least_time(s, t, m, false) <= least_time(s, t, m, true);
    }

  private:
    /// A way to run a part as two smaller parts, first `above` and then `below`. Of the bytes of the whole
    /// part, `above` gets all but `held` bytes, and `below` all but `left` bytes. The way takes `time` ns
    /// more than the two parts together. It needs at least `least` bytes.
    struct Way {
        const TradeOffs& above;
        const TradeOffs& below;
        std::int64_t held = 0, left = 0, time = 0, least = 0;
        int next = -1;  ///< the stage after the checkpoint, as `choice` returns it

        std::int64_t time_in(std::int64_t m) const;
    };
    struct Step {
        std::int64_t bytes = 0, time = 0;
        int next = -1;
    };
    /// A checkpoint before stage s + `ahead`, which saves time if the part has at least `bytes` bytes.
    struct Split {
        int ahead = 0;
        std::int64_t bytes = 0;
    };

    const TradeOffs& of(int s, int t, bool present) const {
        return (present ? present_ : absent_)[static_cast<std::size_t>(parts_.of(s, t))];
    }
    std::int64_t held(int t, bool present) const;
    Way keeping(int s, int t, bool present, const RotorWay& way) const;
    bool fill_part(int s, int t, bool present, const Deadline& deadline);
    bool offer_all_splits(int s, int t, bool present, const Deadline& deadline);
    void offer_near_splits(int s, int t, bool present);
    void offer(const Way& way);
    void merge_better();
    std::int64_t kept_time(int s, int t) const;
    TradeOffs thinned(std::int64_t least);
    std::vector<Split> splits_of(int s) const;

    const std::vector<RotorStage>& stages_;
    int n_;
    std::int64_t most_bytes_;
    EqualParts parts_;
    std::int64_t splits_ = 0;
    bool exhaustive_;
    std::size_t exact_ = 0;                     ///< number of steps at the beginning of each list that are
                                                ///< kept even if they gain little; see `thinned`
    std::int64_t fineness_;                     ///< the larger this number, the less a later step must gain;
                                                ///< see `thinned`
    std::vector<std::int64_t> left_before_{0};  ///< by stage: bytes that the groups of earlier stages leave
    std::vector<std::int64_t> kept_before_{0};  ///< by stage: time of the earlier stages if everything is
                                                ///< kept
    std::vector<TradeOffs> absent_, present_;   ///< by part
    std::vector<std::vector<Split>> absent_at_, present_at_;  ///< by part: the splits that its steps use;
                                                              ///< empty if all splits are tried
    std::vector<Step> part_, better_, merged_;                ///< steps of the current part
    std::vector<std::int64_t> worth_;  ///< for `offer_near_splits`, by `next` - s: `Split::bytes`, or kNever
};

/// Returns the runs that the table chooses for the whole chain within `bytes`.
RunSequence runs_within(const RotorChain& chain, const RotorTable& table, std::int64_t bytes);

}  // namespace rematlas
