#include "core/addresses/packing.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "core/addresses/ejection_search.h"

namespace rematlas {
namespace {

using Order = std::vector<std::int32_t>;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

enum class Fit { lowest, tightest };

struct Placed {
    std::int64_t low, high;
    std::int32_t first, last;
    std::int32_t block;
};

/// What a block is worth to the orders.
struct Measure {
    std::int64_t width = 0;  ///< the largest
    double area = 0;         ///< width times moments
    std::int32_t first = 0, last = 0;
};

/// How high a packing reaches; packings of equal top differ in how much of them lies above the live peak.
struct Score {
    std::int64_t top = kNoLimit;
    double excess = std::numeric_limits<double>::infinity();
    bool operator<(const Score& o) const { return top != o.top ? top < o.top : excess < o.excess; }
};

class Packer {
  public:
    Packer(const MemoryBlocks& blocks, std::int64_t floor)
        : blocks_(blocks), floor_(floor), measures_(blocks.size()) {
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            Measure& m = measures_[b];
            m.first = blocks[b].front().first;
            m.last = blocks[b].back().last;
            for (const BlockSegment& s : blocks[b]) {
                m.width = std::max(m.width, s.width);
                m.area += static_cast<double>(s.width) * (s.last - s.first + 1);
            }
        }
    }

    Packing run(std::int64_t effort) {
        try_orders();
        std::int64_t spent = 0;
        work_ = &spent;
        // Whether the widest blocks or all at once, and which start, serves best differs from graph to graph.
        const std::int64_t share = effort / (2 * static_cast<std::int64_t>(starts_.size()));
        for (std::size_t i = 0; i < starts_.size() && best_.score.top > floor_; ++i) {
            improve_in_stages(starts_[i], share);
            if (best_.score.top <= floor_) break;
            improve(starts_[i], *work_ + share, true);
            keep_best(starts_[i]);
        }
        Packing packing{best_.offsets, best_.score.top};
        lower_by_ejection(blocks_, floor_, effort / 8, packing);
        return packing;
    }

  private:
    static constexpr std::size_t kStarts = 3;
    /// Blocks narrower than this part of the arena wait for a later stage; 0: none waits.
    static constexpr std::int64_t kStages[] = {64, 256, 1024, 0};

    /// A packing and how it came about.
    struct Trial {
        Fit fit = Fit::lowest;
        Order order = {};
        std::vector<std::int64_t> offsets = {};
        std::vector<Placed> placed = {};  ///< by offset
        Score score = {};
    };

    template <class Less>
    Order order_by(Less less) const {
        Order order(blocks_.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::int32_t a, std::int32_t b) { return less(measures_[a], measures_[b]); });
        return order;
    }

    void try_orders() {
        const auto length = [](const Measure& m) { return m.last - m.first; };
        const Order orders[] = {
            order_by([](const Measure& a, const Measure& b) { return a.width > b.width; }),
            order_by([&](const Measure& a, const Measure& b) { return length(a) > length(b); }),
            order_by([](const Measure& a, const Measure& b) { return a.area > b.area; }),
            order_by([](const Measure& a, const Measure& b) { return a.first < b.first; }),
            order_by([](const Measure& a, const Measure& b) { return a.last > b.last; }),
        };
        for (const Order& order : orders) {
            for (const Fit fit : {Fit::lowest, Fit::tightest}) {
                Trial trial{.fit = fit, .order = order, .offsets = std::vector<std::int64_t>(blocks_.size())};
                place_from(trial, 0, Score{});
                keep_best(trial);
                if (fit == Fit::lowest) starts_.push_back(improve_in_stages(trial, 0));
                starts_.push_back(std::move(trial));
                if (best_.score.top <= floor_) return;
            }
        }
        std::stable_sort(starts_.begin(), starts_.end(),
                         [](const Trial& a, const Trial& b) { return a.score < b.score; });
        starts_.resize(std::min(starts_.size(), kStarts));
    }

    void keep_best(const Trial& trial) {
        if (trial.score < best_.score) best_ = trial;
    }

    /// Improves the packing of the widest blocks alone, which is fast, then puts the next narrower ones in
    /// the gaps and improves again.
    Trial improve_in_stages(const Trial& start, std::int64_t effort) {
        Trial trial{.fit = start.fit, .order = start.order, .offsets = start.offsets};
        const auto width = [&](std::int32_t b) { return measures_[b].width; };
        const auto wide = [&](std::int32_t b) { return width(b) >= floor_ / kStages[0]; };
        const auto rest = std::stable_partition(trial.order.begin(), trial.order.end(), wide);
        Order later(rest, trial.order.end());
        trial.order.erase(rest, trial.order.end());
        std::stable_sort(later.begin(), later.end(),
                         [&](std::int32_t a, std::int32_t b) { return width(a) > width(b); });
        std::size_t from = 0;
        auto next = later.begin();
        for (const std::int64_t part : kStages) {
            for (; next != later.end() && (part == 0 || width(*next) >= floor_ / part); ++next)
                trial.order.push_back(*next);
            place_from(trial, from, Score{});
            from = trial.order.size();
            improve(trial, *work_ + effort / static_cast<std::int64_t>(std::size(kStages)), false);
        }
        keep_best(trial);
        return trial;
    }

    /// Moves a block that reaches above the floor forward in the order, or swaps it with one placed before
    /// it, and keeps what does not reach higher; with `slopes`, only what has no more excess either.
    void improve(Trial& current, std::int64_t limit, bool slopes) {
        std::vector<std::int32_t> high;
        Trial next;
        while (*work_ < limit && current.score.top > floor_) {
            too_high(current, random(2) == 0, high);
            const auto blamed = high[random(high.size())];
            const auto at = std::find(current.order.begin(), current.order.end(), blamed);
            const std::size_t from = static_cast<std::size_t>(at - current.order.begin());
            *work_ += static_cast<std::int64_t>(current.order.size());
            if (from == 0) continue;
            const std::size_t to =
                random(2) ? random(from) : from - 1 - random(std::min<std::size_t>(from, 32));
            next.fit = current.fit;
            next.order = current.order;
            next.offsets = current.offsets;
            if (random(3) == 0)
                std::swap(next.order[to], next.order[from]);
            else
                std::rotate(next.order.begin() + static_cast<std::ptrdiff_t>(to),
                            next.order.begin() + static_cast<std::ptrdiff_t>(from),
                            next.order.begin() + static_cast<std::ptrdiff_t>(from) + 1);
            keep_prefix(current, to, next);
            if (place_from(next, to, {current.score.top, slopes ? current.score.excess : Score{}.excess}))
                std::swap(current, next);
        }
    }

    void count(const Placed& p, Score& score) const {
        score.top = std::max(score.top, p.high);
        score.excess += static_cast<double>(std::max<std::int64_t>(0, p.high - floor_));
    }

    void too_high(const Trial& trial, bool top_only, std::vector<std::int32_t>& high) const {
        high.clear();
        const std::int64_t above = top_only ? trial.score.top - 1 : floor_;
        for (const Placed& p : trial.placed) {
            if (p.high > above) high.push_back(p.block);
        }
    }

    /// The blocks placed before position `to` stay where they are.
    void keep_prefix(const Trial& from, std::size_t to, Trial& into) {
        rank_.resize(blocks_.size());
        for (std::size_t i = 0; i < from.order.size(); ++i) rank_[from.order[i]] = i;
        into.placed.clear();
        into.score = {.top = 0, .excess = 0};
        for (const Placed& p : from.placed) {
            if (rank_[p.block] >= to) continue;
            into.placed.push_back(p);
            count(p, into.score);
        }
    }

    /// Places order[from ..]; false as soon as the top is above `limit`.
    bool place_from(Trial& trial, std::size_t from, const Score& limit) {
        if (from == 0) {
            trial.score = {.top = 0, .excess = 0};
            trial.placed.clear();
        }
        for (std::size_t i = from; i < trial.order.size(); ++i) {
            const std::int32_t b = trial.order[i];
            const auto segments = blocks_[b];
            const std::int64_t offset = segments.size() == 1 ? gap_for(segments[0], trial.placed, trial.fit)
                                                             : gap_for(segments, trial.placed);
            trial.offsets[b] = offset;
            for (const BlockSegment& s : segments) {
                if (s.width == 0) continue;
                const Placed p{offset, offset + s.width, s.first, s.last, b};
                count(p, trial.score);
                trial.placed.insert(
                    std::upper_bound(trial.placed.begin(), trial.placed.end(), offset,
                                     [](std::int64_t o, const Placed& q) { return o < q.low; }),
                    p);
            }
            if (trial.score.top > limit.top || trial.score.excess > limit.excess) return false;
        }
        return true;
    }

    std::int64_t gap_for(const BlockSegment& s, const std::vector<Placed>& placed, Fit fit) {
        std::int64_t free_from = 0, best = -1, tightest = std::numeric_limits<std::int64_t>::max();
        std::size_t i = 0;
        for (; i < placed.size(); ++i) {
            const Placed& p = placed[i];
            if (p.last < s.first || s.last < p.first) continue;
            const std::int64_t gap = p.low - free_from;
            if (gap >= s.width && gap < tightest) {
                best = free_from;
                tightest = gap;
                if (fit == Fit::lowest || gap == s.width) break;
            }
            free_from = std::max(free_from, p.high);
        }
        *work_ += static_cast<std::int64_t>(i) + 16;
        return best >= 0 ? best : free_from;
    }

    /// The lowest offset for a block of several widths: above every range of offsets that is forbidden.
    std::int64_t gap_for(std::span<const BlockSegment> segments, const std::vector<Placed>& placed) {
        forbidden_.clear();
        for (const Placed& p : placed) {
            for (const BlockSegment& s : segments) {
                if (s.width == 0 || p.last < s.first || s.last < p.first) continue;
                forbidden_.emplace_back(p.low - s.width, p.high);
            }
        }
        std::sort(forbidden_.begin(), forbidden_.end());
        *work_ += static_cast<std::int64_t>(placed.size() * segments.size()) + 16;
        std::int64_t offset = 0;
        for (const auto& [after, until] : forbidden_) {
            if (after >= offset) break;
            offset = std::max(offset, until);
        }
        return offset;
    }

    std::size_t random(std::size_t n) {
        random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<std::size_t>((random_ >> 33) % n);
    }

    const MemoryBlocks& blocks_;
    std::int64_t floor_;
    std::vector<Measure> measures_;
    std::vector<Trial> starts_;
    Trial best_;
    std::vector<std::size_t> rank_;
    std::vector<std::pair<std::int64_t, std::int64_t>> forbidden_;
    std::int64_t unlimited_ = 0;
    std::int64_t* work_ = &unlimited_;
    std::uint64_t random_ = 1;
};

}  // namespace

std::int64_t live_peak(const MemoryBlocks& blocks) {
    std::int32_t moments = 0;
    for (const BlockSegment& s : blocks.segments) moments = std::max(moments, s.last + 1);
    std::vector<std::int64_t> change(static_cast<std::size_t>(moments) + 1, 0);
    for (const BlockSegment& s : blocks.segments) {
        change[s.first] += s.width;
        change[s.last + 1] -= s.width;
    }
    std::int64_t alive = 0, peak = 0;
    for (std::int64_t c : change) peak = std::max(peak, alive += c);
    return peak;
}

Packing pack(const MemoryBlocks& blocks, std::int64_t effort) {
    if (blocks.size() == 0) return {};
    return Packer(blocks, live_peak(blocks)).run(effort);
}

}  // namespace rematlas
