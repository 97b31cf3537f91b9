#include "core/addresses/ejection_search.h"

#include <algorithm>
#include <cmath>

namespace rematlas {
namespace {

/// Another block that lives at some moment together with this one.
struct Meeting {
    std::int32_t other;
    std::int64_t mine, theirs;  ///< the widths that must not overlap when the other lies above, or below
};

class EjectionSearch {
  public:
    EjectionSearch(const MemoryBlocks& blocks, std::int64_t floor, Packing& best)
        : blocks_(blocks), floor_(floor), best_(best), meetings_(blocks.size()), widths_(blocks.size(), 0) {
        for (std::size_t b = 0; b < blocks.size(); ++b)
            for (const BlockSegment& s : blocks[b]) widths_[b] = std::max(widths_[b], s.width);
    }

    /// Whether wide blocks should be dearer than narrow ones from the start differs from graph to graph.
    void run(std::int64_t effort) {
        if (!find_meetings()) return;
        for (const std::int64_t widest : {1, 1024}) {
            set_prices(widest);
            offsets_ = best_.offsets;
            placed_.assign(blocks_.size(), 1);
            waiting_.clear();
            work_ = 0;
            while (best_.top > floor_) {
                ceiling_ = floor_ + (best_.top - floor_) * 7 / 8;
                take_out_what_is_too_high();
                if (!put_back(effort / 2)) break;
                keep();
            }
        }
    }

  private:
    static constexpr std::size_t kMostMeetings = 4'000'000;  ///< pairs

    bool find_meetings();
    void meet(const BlockSegment& a, std::int32_t block_a, const BlockSegment& b, std::int32_t block_b) {
        meetings_[block_a].push_back({block_b, a.width, b.width});
        meetings_[block_b].push_back({block_a, b.width, a.width});
    }

    /// From 1 to `widest`, with the root of the width.
    void set_prices(std::int64_t widest) {
        const double most = static_cast<double>(*std::max_element(widths_.begin(), widths_.end()));
        prices_.clear();
        for (const std::int64_t width : widths_) {
            const double part = std::sqrt(static_cast<double>(width) / most);
            prices_.push_back(1 + static_cast<std::int64_t>(static_cast<double>(widest - 1) * part));
        }
        raises_ = prices_;
        for (std::int64_t& raise : raises_) raise = std::max<std::int64_t>(1, raise / 4);
    }

    void take_out_what_is_too_high() {
        for (std::int32_t b = 0; b < static_cast<std::int32_t>(blocks_.size()); ++b) {
            if (!placed_[b] || offsets_[b] + widths_[b] <= ceiling_) continue;
            placed_[b] = 0;
            waiting_.push_back(b);
        }
    }

    bool put_back(std::int64_t effort) {
        while (!waiting_.empty()) {
            if (work_ >= effort) return false;
            const std::size_t last = waiting_.size() - 1;
            std::swap(waiting_[random(waiting_.size())], waiting_[last]);
            const std::int32_t block = waiting_[last];
            waiting_.pop_back();
            const std::int64_t offset = cheapest_offset(block);
            offsets_[block] = offset;
            placed_[block] = 1;
            displace(block, offset);
        }
        return true;
    }

    void displace(std::int32_t block, std::int64_t offset) {
        bool displaced = false;
        for (const Meeting& m : meetings_[block]) {
            if (!placed_[m.other] || offsets_[m.other] - m.mine >= offset ||
                offsets_[m.other] + m.theirs <= offset)
                continue;
            placed_[m.other] = 0;
            waiting_.push_back(m.other);
            displaced = true;
        }
        if (displaced) prices_[block] += raises_[block];
    }

    std::int64_t cheapest_offset(std::int32_t block);
    void keep();

    std::size_t random(std::size_t n) {
        random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<std::size_t>((random_ >> 33) % n);
    }

    const MemoryBlocks& blocks_;
    std::int64_t floor_, ceiling_ = 0;
    Packing& best_;
    std::vector<std::vector<Meeting>> meetings_;
    std::vector<std::int64_t> widths_;

    std::vector<std::int64_t> offsets_;
    std::vector<std::uint8_t> placed_;
    std::vector<std::int32_t> waiting_;
    std::vector<std::int64_t> prices_, raises_;  ///< raised when a block cannot go back without displacing
    struct Edge {
        std::int64_t at;
        std::int64_t price;  ///< of the displacement that begins here; negative where one ends
    };
    std::vector<Edge> edges_;
    std::int64_t work_ = 0;
    std::uint64_t random_ = 1;
};

/// Sweeps over the moments; false when there are too many. Of two blocks with several segments the widest
/// that meet decide: one offset must suit them all.
bool EjectionSearch::find_meetings() {
    struct Owned {
        BlockSegment segment;
        std::int32_t block;
    };
    std::vector<Owned> segments, alive;
    for (std::size_t b = 0; b < blocks_.size(); ++b)
        for (const BlockSegment& s : blocks_[b])
            if (s.width > 0) segments.push_back({s, static_cast<std::int32_t>(b)});
    std::stable_sort(segments.begin(), segments.end(),
                     [](const Owned& a, const Owned& b) { return a.segment.first < b.segment.first; });
    std::size_t pairs = 0;
    for (const Owned& s : segments) {
        std::erase_if(alive, [&](const Owned& a) { return a.segment.last < s.segment.first; });
        for (const Owned& a : alive)
            if (a.block != s.block) meet(a.segment, a.block, s.segment, s.block);
        pairs += alive.size();
        if (pairs > kMostMeetings) return false;
        alive.push_back(s);
    }
    for (std::vector<Meeting>& list : meetings_) {
        std::sort(list.begin(), list.end(),
                  [](const Meeting& x, const Meeting& y) { return x.other < y.other; });
        std::size_t kept = 0;
        for (const Meeting& m : list) {
            if (kept == 0 || list[kept - 1].other != m.other) {
                list[kept++] = m;
                continue;
            }
            list[kept - 1].mine = std::max(list[kept - 1].mine, m.mine);
            list[kept - 1].theirs = std::max(list[kept - 1].theirs, m.theirs);
        }
        list.resize(kept);
    }
    return true;
}

/// Displacing another block costs its price, over the open range of offsets at which the two would overlap.
std::int64_t EjectionSearch::cheapest_offset(std::int32_t block) {
    const std::int64_t highest = ceiling_ - widths_[block];
    edges_.clear();
    std::int64_t now = 0;
    for (const Meeting& m : meetings_[block]) {
        if (!placed_[m.other]) continue;
        const std::int64_t from = offsets_[m.other] - m.mine, until = offsets_[m.other] + m.theirs;
        const std::int64_t price = prices_[m.other];
        if (from < 0)
            now += price;  // 0 lies inside
        else if (from < highest)
            edges_.push_back({from + 1, price});
        if (until <= highest) edges_.push_back({until, -price});
    }
    std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
    work_ += static_cast<std::int64_t>(meetings_[block].size() + 4 * edges_.size()) + 16;
    std::int64_t best = now, offset = 0;
    std::size_t equals = 1;
    for (std::size_t i = 0; i < edges_.size();) {
        const std::int64_t at = edges_[i].at;
        const std::int64_t before = now;
        for (; i < edges_.size() && edges_[i].at == at; ++i) now += edges_[i].price;
        if (now >= before) continue;
        if (now > best) continue;
        equals = now < best ? 1 : equals + 1;
        best = now;
        if (random(equals) == 0) offset = at;
    }
    return offset;
}

void EjectionSearch::keep() {
    best_.offsets = offsets_;
    best_.top = 0;
    for (std::size_t b = 0; b < blocks_.size(); ++b)
        best_.top = std::max(best_.top, widths_[b] == 0 ? 0 : offsets_[b] + widths_[b]);
}

}  // namespace

void lower_by_ejection(const MemoryBlocks& blocks, std::int64_t floor, std::int64_t effort,
                       Packing& packing) {
    EjectionSearch(blocks, floor, packing).run(effort);
}

}  // namespace rematlas
