// Packing blocks of memory into an arena: the offline problem of dynamic storage allocation, which is
// NP-hard.
//
// A block lives over an interval of moments and stays at one offset. Its width may change from one segment of
// moments to the next, because a larger or smaller tensor takes over its memory.
//
// Two searches alternate: order_search.h finds an order in which the blocks are placed one after another, and
// ejection_search.h then moves blocks to places that no such order reaches. The starting packing decides
// where the second search gets stuck, so both searches are repeated from other starting packings while effort
// is left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rematlas {

/// The moments from `first` to `last`, both included.
struct BlockSegment {
    std::int32_t first = 0, last = 0;
    std::int64_t width = 0;
};

/// The segments of block i are segments[begin[i] .. begin[i + 1]): at least one, ascending and disjoint in
/// time.
struct MemoryBlocks {
    std::vector<BlockSegment> segments;
    std::vector<std::int32_t> begin{0};

    std::size_t size() const { return begin.size() - 1; }
    std::span<const BlockSegment> operator[](std::size_t block) const {
        return {segments.data() + begin[block], segments.data() + begin[block + 1]};
    }
};

struct Packing {
    std::vector<std::int64_t> offsets;  ///< offset of each block; not negative
    std::int64_t top = 0;               ///< the size of the smallest arena that holds all blocks at these
                                        ///< offsets
};

/// Limits of one search.
struct SearchLimits {
    std::uint64_t seed = 1;
    std::int64_t effort = 0;    ///< most comparisons, of about 1 ns each
    std::int64_t patience = 0;  ///< most comparisons without an improvement; only the ejection search uses it
};

/// Returns the most bytes that are alive at one moment: a lower bound on `Packing::top`.
std::int64_t live_peak(const MemoryBlocks& blocks);

/// Returns the greatest common divisor of the widths, or 1 if no width is positive.
std::int64_t grain(const MemoryBlocks& blocks);

/// Returns a packing in which no two blocks overlap and all offsets are multiples of the grain. So widths
/// that are rounded up to an alignment give aligned offsets. The sum of the widths of all segments must be
/// below 2^62. The search stops when `top` is the live peak, or after `effort` comparisons (about 1 ns each);
/// the plain orders are tried even if they need more. Equal inputs give equal packings on every machine. Cost
/// of the plain orders: quadratic in the blocks at worst; 10,000 blocks take about 1 s, 1,000 take 10 ms.
Packing pack(const MemoryBlocks& blocks, std::int64_t effort);

}  // namespace rematlas
