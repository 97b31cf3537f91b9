// Random blocks of memory, and reference packings for them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/addresses/packing.h"

namespace rematlas {

/// Returns blocks with random lifetimes. Each block has up to `parts` segments of different widths, which can
/// have gaps between them.
inline MemoryBlocks random_blocks(std::mt19937& random, int count, int moments, int widest, int parts) {
    const auto below = [&](int n) { return static_cast<std::int32_t>(random() % static_cast<unsigned>(n)); };
    MemoryBlocks blocks;
    for (int b = 0; b < count; ++b) {
        std::int32_t first = below(moments);
        for (int part = 1 + below(parts); part > 0 && first < moments; --part) {
            const std::int32_t last = first + below(moments - first);
            blocks.segments.push_back({first, last, below(widest + 1)});
            first = last + 1 + below(2);
        }
        blocks.begin.push_back(static_cast<std::int32_t>(blocks.segments.size()));
    }
    return blocks;
}

inline std::int64_t widest(const MemoryBlocks& blocks, std::size_t block) {
    std::int64_t width = 0;
    for (const BlockSegment& s : blocks[block]) width = std::max(width, s.width);
    return width;
}

/// Puts each block on top of the block before.
inline Packing stacked(const MemoryBlocks& blocks) {
    Packing packing;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        packing.offsets.push_back(packing.top);
        packing.top += widest(blocks, b);
    }
    return packing;
}

inline bool collide(const MemoryBlocks& blocks, const std::vector<std::int64_t>& offsets, std::size_t a,
                    std::size_t b) {
    for (const BlockSegment& s : blocks[a])
        for (const BlockSegment& o : blocks[b])
            if (s.width > 0 && o.width > 0 && s.first <= o.last && o.first <= s.last &&
                offsets[a] < offsets[b] + o.width && offsets[b] < offsets[a] + s.width)
                return true;
    return false;
}

inline void expect_sound(const MemoryBlocks& blocks, const Packing& packing) {
    std::int64_t top = 0;
    for (std::size_t a = 0; a < blocks.size(); ++a) {
        EXPECT_GE(packing.offsets[a], 0);
        EXPECT_EQ(packing.offsets[a] % grain(blocks), 0);
        if (widest(blocks, a) > 0) top = std::max(top, packing.offsets[a] + widest(blocks, a));
        for (std::size_t b = 0; b < a; ++b) EXPECT_FALSE(collide(blocks, packing.offsets, a, b));
    }
    EXPECT_EQ(packing.top, top);
}

/// Says whether the blocks from `next` on fit below `top`. Tries every offset.
inline bool fit(const MemoryBlocks& blocks, std::vector<std::int64_t>& offsets, std::size_t next,
                std::int64_t top) {
    if (next == blocks.size()) return true;
    for (offsets[next] = 0; offsets[next] + widest(blocks, next) <= top; ++offsets[next]) {
        bool free = true;
        for (std::size_t b = 0; b < next && free; ++b) free = !collide(blocks, offsets, next, b);
        if (free && fit(blocks, offsets, next + 1, top)) return true;
    }
    return false;
}

/// Returns the size of the smallest arena, by exhaustive search. Suitable only for a few blocks of a few
/// bytes.
inline std::int64_t least_top(const MemoryBlocks& blocks) {
    std::vector<std::int64_t> offsets(blocks.size(), 0);
    std::int64_t top = live_peak(blocks);
    while (!fit(blocks, offsets, 0, top)) ++top;
    return top;
}

}  // namespace rematlas
