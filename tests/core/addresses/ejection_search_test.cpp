#include "core/addresses/ejection_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace rematlas {
namespace {

/// Blocks at random moments; with `parts` above one, of widths that change while they live.
MemoryBlocks random_blocks(std::mt19937& random, int count, int moments, int widest, int parts) {
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

std::int64_t widest(const MemoryBlocks& blocks, std::size_t block) {
    std::int64_t width = 0;
    for (const BlockSegment& s : blocks[block]) width = std::max(width, s.width);
    return width;
}

/// Each block on top of the one before.
Packing stacked(const MemoryBlocks& blocks) {
    Packing packing;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        packing.offsets.push_back(packing.top);
        packing.top += widest(blocks, b);
    }
    return packing;
}

bool collide(const MemoryBlocks& blocks, const std::vector<std::int64_t>& offsets, std::size_t a,
             std::size_t b) {
    for (const BlockSegment& s : blocks[a])
        for (const BlockSegment& o : blocks[b])
            if (s.width > 0 && o.width > 0 && s.first <= o.last && o.first <= s.last &&
                offsets[a] < offsets[b] + o.width && offsets[b] < offsets[a] + s.width)
                return true;
    return false;
}

void expect_sound(const MemoryBlocks& blocks, const Packing& packing) {
    std::int64_t top = 0;
    for (std::size_t a = 0; a < blocks.size(); ++a) {
        EXPECT_GE(packing.offsets[a], 0);
        EXPECT_EQ(packing.offsets[a] % grain(blocks), 0);
        if (widest(blocks, a) > 0) top = std::max(top, packing.offsets[a] + widest(blocks, a));
        for (std::size_t b = 0; b < a; ++b) EXPECT_FALSE(collide(blocks, packing.offsets, a, b));
    }
    EXPECT_EQ(packing.top, top);
}

/// Whether the blocks from `next` on fit below `top`, tried at every offset.
bool fit(const MemoryBlocks& blocks, std::vector<std::int64_t>& offsets, std::size_t next, std::int64_t top) {
    if (next == blocks.size()) return true;
    for (offsets[next] = 0; offsets[next] + widest(blocks, next) <= top; ++offsets[next]) {
        bool free = true;
        for (std::size_t b = 0; b < next && free; ++b) free = !collide(blocks, offsets, next, b);
        if (free && fit(blocks, offsets, next + 1, top)) return true;
    }
    return false;
}

std::int64_t least_top(const MemoryBlocks& blocks) {
    std::vector<std::int64_t> offsets(blocks.size(), 0);
    std::int64_t top = live_peak(blocks);
    while (!fit(blocks, offsets, 0, top)) ++top;
    return top;
}

TEST(EjectionSearch, nearly_always_finds_the_least_arena_of_small_problems) {
    std::mt19937 random(1);
    int found = 0, above_the_live_peak = 0;
    for (int round = 0; round < 300; ++round) {
        const MemoryBlocks blocks = random_blocks(random, 4 + round % 4, 6, 5, 1 + round % 3);
        const std::int64_t least = least_top(blocks);
        Packing packing = stacked(blocks);
        std::int64_t spent = 0;
        lower_by_ejection(blocks, live_peak(blocks), {.seed = 1, .effort = 300'000, .patience = 100'000},
                          packing, spent);
        expect_sound(blocks, packing);
        EXPECT_GE(packing.top, least) << round;
        found += packing.top == least;
        above_the_live_peak += least > live_peak(blocks);
    }
    EXPECT_GE(found, 297);
    EXPECT_GT(above_the_live_peak, 3) << "else the floor would do";
}

TEST(EjectionSearch, packs_many_blocks_well_and_stays_sound) {
    std::mt19937 random(2);
    double together = 0;
    for (int round = 0; round < 20; ++round) {
        MemoryBlocks blocks = random_blocks(random, 60, 50, 40, 1 + round % 3);
        for (BlockSegment& s : blocks.segments) s.width *= 16;
        Packing packing = stacked(blocks);
        const std::int64_t floor = live_peak(blocks);
        std::int64_t spent = 0;
        lower_by_ejection(blocks, floor, {.seed = 3, .effort = 4'000'000, .patience = 2'000'000}, packing,
                          spent);
        expect_sound(blocks, packing);
        together += static_cast<double>(packing.top) / static_cast<double>(floor);
    }
    EXPECT_LE(together / 20, 1.04);
}

TEST(EjectionSearch, spends_what_it_may_and_ends_when_nothing_is_gained_any_more) {
    std::mt19937 random(3);
    const MemoryBlocks blocks = random_blocks(random, 100, 40, 50, 2);
    const auto spend = [&](std::int64_t effort, std::int64_t patience) {
        Packing packing = stacked(blocks);
        std::int64_t spent = 1000;
        lower_by_ejection(blocks, 0, {.seed = 1, .effort = effort, .patience = patience}, packing, spent);
        return std::pair(spent - 1000, packing.top);
    };
    const std::int64_t a_move = 20 * 200;  // a generous guess: comparisons with all ends in place
    const auto [brief, high] = spend(100'000, 1'000'000);
    EXPECT_GE(brief, 100'000);
    EXPECT_LT(brief, 100'000 + a_move);
    const auto [more, lower] = spend(1'000'000, 100'000'000);
    EXPECT_GE(more, 1'000'000);
    EXPECT_LT(more, 1'000'000 + a_move);
    EXPECT_LT(lower, high);
    EXPECT_LT(spend(100'000'000, 50'000).first, 10'000'000);
    EXPECT_EQ(spend(0, 1'000'000).second, stacked(blocks).top);
}

}  // namespace
}  // namespace rematlas
