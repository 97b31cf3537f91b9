#include "core/addresses/ejection_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rematlas {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

class EjectionSearch {
  public:
    EjectionSearch(const MemoryBlocks& blocks, std::int64_t floor, std::uint64_t seed, Packing& best)
        : blocks_(blocks),
          floor_(floor),
          grain_(grain(blocks)),
          best_(best),
          widths_(blocks.size(), 0),
          random_(seed) {
        for (std::size_t b = 0; b < blocks.size(); ++b)
            for (const BlockSegment& s : blocks[b]) widths_[b] = std::max(widths_[b], s.width);
    }

    void run(const SearchLimits& limits) {
        start();
        while (best_.top > floor_) {
            ceiling_ = floor_ + (best_.top - floor_) * 15 / 16 / grain_ * grain_;
            take_out_what_is_too_high();
            if (!put_back(std::min(limits.effort, work_ + limits.patience))) return;
            keep();
        }
    }

    std::int64_t work() const { return work_; }

  private:
    /// The next block to put back is the widest of this many waiting blocks, which are drawn at random. So
    /// wide blocks mostly come first, but the order varies.
    static constexpr int kDrawn = 6;
    static constexpr double kDearest = 100'000;

    /// The lower or the upper end of a placed segment.
    struct End {
        std::int64_t at;
        std::int32_t first, last;
        std::int32_t block;
    };
    /// An offset at which another block begins or ceases to be in the way, and the price of displacing that
    /// block.
    struct Edge {
        std::int64_t at;
        std::int64_t price;
    };

    /// Puts every block at its offset in `best_`. The price of displacing a block grows with the square root
    /// of its width.
    void start() {
        const double most = static_cast<double>(*std::max_element(widths_.begin(), widths_.end()));
        offsets_ = best_.offsets;
        placed_.assign(blocks_.size(), 0);
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            const double part = most > 0 ? std::sqrt(static_cast<double>(widths_[b]) / most) : 0;
            raises_.push_back(1 + static_cast<std::int64_t>(kDearest * part));
            if (widths_[b] > 0) put(static_cast<std::int32_t>(b), offsets_[b]);
        }
        prices_ = raises_;
    }

    void take_out_what_is_too_high() {
        for (std::int32_t b = 0; b < static_cast<std::int32_t>(blocks_.size()); ++b) {
            if (placed_[b] && offsets_[b] + widths_[b] > ceiling_) eject(b);
        }
    }

    bool put_back(std::int64_t effort) {
        while (!waiting_.empty()) {
            if (work_ >= effort) return false;
            const std::int32_t block = next_waiting();
            const std::int64_t offset = cheapest_offset(block);
            displace(block, offset);
            put(block, offset);
        }
        return true;
    }

    std::int32_t next_waiting() {
        std::size_t next = random(waiting_.size());
        for (int i = 1; i < kDrawn; ++i) {
            const std::size_t other = random(waiting_.size());
            if (widths_[waiting_[other]] > widths_[waiting_[next]]) next = other;
        }
        std::swap(waiting_[next], waiting_.back());
        const std::int32_t block = waiting_.back();
        waiting_.pop_back();
        return block;
    }

    void put(std::int32_t block, std::int64_t offset) {
        offsets_[block] = offset;
        placed_[block] = 1;
        for (const BlockSegment& s : blocks_[block]) {
            if (s.width == 0) continue;
            insert(lows_, {offset, s.first, s.last, block});
            insert(highs_, {offset + s.width, s.first, s.last, block});
        }
    }
    void eject(std::int32_t block) {
        placed_[block] = 0;
        waiting_.push_back(block);
        for (const BlockSegment& s : blocks_[block]) {
            if (s.width == 0) continue;
            erase(lows_, offsets_[block], block);
            erase(highs_, offsets_[block] + s.width, block);
        }
    }
    static void insert(std::vector<End>& ends, const End& end) {
        ends.insert(std::upper_bound(ends.begin(), ends.end(), end.at,
                                     [](std::int64_t at, const End& e) { return at < e.at; }),
                    end);
    }
    static void erase(std::vector<End>& ends, std::int64_t at, std::int32_t block) {
        auto end = std::lower_bound(ends.begin(), ends.end(), at,
                                    [](const End& e, std::int64_t value) { return e.at < value; });
        while (end->block != block) ++end;
        ends.erase(end);
    }

    void displace(std::int32_t block, std::int64_t offset) {
        displaced_.clear();
        for (const BlockSegment& s : blocks_[block]) {
            for (const End& low : lows_) {
                if (low.at >= offset + s.width) break;
                if (low.last >= s.first && low.first <= s.last && overlaps(low.block, s, offset))
                    displaced_.push_back(low.block);
            }
        }
        if (displaced_.empty()) return;
        for (const std::int32_t other : displaced_)
            if (placed_[other]) eject(other);
        prices_[block] += raises_[block];
    }

    /// Says whether any segment of the placed block overlaps `s` if `s` is put at `offset`.
    bool overlaps(std::int32_t placed, const BlockSegment& s, std::int64_t offset) const {
        const std::int64_t low = offsets_[placed];
        for (const BlockSegment& other : blocks_[placed]) {
            if (other.last >= s.first && other.first <= s.last && low < offset + s.width &&
                low + other.width > offset)
                return true;
        }
        return false;
    }

    void find_edges(std::int32_t block);
    std::int64_t cheapest_offset(std::int32_t block);
    void keep();

    std::size_t random(std::size_t n) {
        random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<std::size_t>((random_ >> 33) % n);
    }

    const MemoryBlocks& blocks_;
    std::int64_t floor_, grain_, ceiling_ = 0;
    Packing& best_;
    std::vector<std::int64_t> widths_;  ///< largest width of each block

    std::vector<std::int64_t> offsets_;
    std::vector<std::uint8_t> placed_;
    std::vector<End> lows_, highs_;  ///< ends of the placed blocks, ascending
    std::vector<std::int32_t> waiting_, displaced_;
    /// Per block: the price of displacing the block, and by how much that price rises each time that the
    /// block displaces others.
    std::vector<std::int64_t> prices_, raises_;
    std::vector<Edge> begins_, ends_;
    std::int64_t work_ = 0;
    std::uint64_t random_;
};

/// Fills begins_ and ends_ for the block. A segment of the block and a segment of a placed block form a pair
/// if they share a moment. Each pair has an edge in begins_ and an edge in ends_. The block pays the price of
/// the pair at offsets between the two edges. So the block can pay several times for one placed block, but it
/// never pays for a block that it does not displace.
void EjectionSearch::find_edges(std::int32_t block) {
    const auto segments = blocks_[block];
    begins_.resize(segments.size() * lows_.size());
    ends_.resize(begins_.size());
    std::size_t begins = 0, ends = 0;
    for (const BlockSegment& s : segments) {
        if (s.width == 0) continue;
        for (const End& low : lows_) {
            begins_[begins] = {low.at - s.width, prices_[low.block]};
            begins += (low.last >= s.first) & (low.first <= s.last);
        }
        for (const End& high : highs_) {
            ends_[ends] = {high.at, prices_[high.block]};
            ends += (high.last >= s.first) & (high.first <= s.last);
        }
    }
    begins_.resize(begins);
    ends_.resize(ends);
    work_ += static_cast<std::int64_t>(3 * segments.size() * lows_.size() + 8 * begins) + 64;
    if (segments.size() == 1) return;  // lows_ and highs_ are sorted, so the edges are, too
    const auto lower = [](const Edge& a, const Edge& b) { return a.at < b.at; };
    std::sort(begins_.begin(), begins_.end(), lower);
    std::sort(ends_.begin(), ends_.end(), lower);
}

std::int64_t EjectionSearch::cheapest_offset(std::int32_t block) {
    find_edges(block);
    const std::int64_t highest = ceiling_ - widths_[block];
    std::int64_t least = kNever, best = 0, now = 0;
    std::size_t equals = 0, begun = 0, ended = 0;
    for (std::int64_t offset = 0;;) {
        for (; ended < ends_.size() && ends_[ended].at <= offset; ++ended) now -= ends_[ended].price;
        for (; begun < begins_.size() && begins_[begun].at < offset; ++begun) now += begins_[begun].price;
        if (now <= least) {
            equals = now < least ? 1 : equals + 1;
            least = now;
            if (random(equals) == 0) best = offset;
        }
        if (offset == highest) return best;
        std::size_t next = begun;
        while (next < begins_.size() && begins_[next].at == offset) ++next;
        offset = next < begins_.size() ? std::min(highest, begins_[next].at) : highest;
        if (ended < ends_.size()) offset = std::min(offset, ends_[ended].at);
    }
}

void EjectionSearch::keep() {
    best_.offsets = offsets_;
    best_.top = 0;
    for (std::size_t b = 0; b < blocks_.size(); ++b)
        best_.top = std::max(best_.top, widths_[b] == 0 ? 0 : offsets_[b] + widths_[b]);
}

}  // namespace

void lower_by_ejection(const MemoryBlocks& blocks, std::int64_t floor, const SearchLimits& limits,
                       Packing& packing, std::int64_t& spent) {
    EjectionSearch search(blocks, floor, limits.seed, packing);
    search.run(limits);
    spent += search.work();
}

}  // namespace rematlas
