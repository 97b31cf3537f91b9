// Packing blocks of memory into an arena: the offline problem of dynamic storage allocation, NP-hard.
//
// A block lives over an interval of moments and stays at one offset. Its width may change from one segment of
// moments to the next: a buffer taken over by a larger or smaller one.
//
// Source: greedy fits in an order fixed beforehand, each block at the lowest or the tightest gap (Sekiyama et
// al. 2018, "Profile-guided memory optimization for deep neural networks"; Pisarchyk and Lee 2020, "Efficient
// memory management for deep neural net inference", greedy by size); then blocks that end up too high are
// moved forward in the order, and the order is packed again (Joslin and Clements 1999, "Squeaky wheel
// optimization"); then ejection_search.h, which finds what no order leads to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rematlas {

/// Moments first .. last, both included.
struct BlockSegment {
    std::int32_t first = 0, last = 0;
    std::int64_t width = 0;
};

/// Block i has segments[begin[i] .. begin[i + 1]), at least one, ascending and disjoint in time.
struct MemoryBlocks {
    std::vector<BlockSegment> segments;
    std::vector<std::int32_t> begin{0};

    std::size_t size() const { return begin.size() - 1; }
    std::span<const BlockSegment> operator[](std::size_t block) const {
        return {segments.data() + begin[block], segments.data() + begin[block + 1]};
    }
};

struct Packing {
    std::vector<std::int64_t> offsets;  ///< per block, not negative
    std::int64_t top = 0;               ///< the smallest arena that holds them all
};

/// The most that is alive at one moment: a lower bound on `Packing::top`.
std::int64_t live_peak(const MemoryBlocks& blocks);

/// The widths of all segments together must stay below 2^62. A packing in which no two blocks overlap. Stops
/// when `top` is the live peak, or after `effort` comparisons (about a nanosecond each) of improvement; the
/// greedy fits always finish. Equal inputs give equal packings, on every machine. Cost of the fits: quadratic
/// in the blocks at worst, 10,000 in 1 to 1.5 s, 1,000 in 10 ms.
Packing pack(const MemoryBlocks& blocks, std::int64_t effort);

}  // namespace rematlas
