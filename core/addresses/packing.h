// Packing blocks of memory into an arena: the offline problem of dynamic storage allocation, NP-hard.
//
// A block lives over an interval of moments and stays at one offset. Its width may change from one segment of
// moments to the next: a buffer taken over by a larger or smaller one.
//
// Two searches follow each other: order_search.h finds an order in which the blocks are placed one after
// another, and ejection_search.h lowers the packing by moves that no order leads to. The start decides where
// the second search gets stuck, so the two go on with another start as long as there is effort left.
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

/// How long one of the searches goes on.
struct SearchLimits {
    std::uint64_t seed = 1;
    std::int64_t effort = 0;    ///< comparisons of about a nanosecond
    std::int64_t patience = 0;  ///< comparisons since the last improvement; for the ejection search
};

/// The most bytes that are alive at one moment: a lower bound on `Packing::top`.
std::int64_t live_peak(const MemoryBlocks& blocks);

/// The greatest common divisor of the widths; 1 when there are none.
std::int64_t grain(const MemoryBlocks& blocks);

/// Returns a packing in which no two blocks overlap and all offsets are multiples of the grain: widths that
/// are rounded up to an alignment give aligned offsets. The widths of all segments together must stay below
/// 2^62. The search stops when `top` is the live peak, or after `effort` comparisons (about a nanosecond
/// each) of improvement; the plain orders always finish. Equal inputs give equal packings, on every machine.
/// Cost of the plain orders: quadratic in the blocks at worst, 10,000 in about 1 s, 1,000 in 10 ms.
Packing pack(const MemoryBlocks& blocks, std::int64_t effort);

}  // namespace rematlas
