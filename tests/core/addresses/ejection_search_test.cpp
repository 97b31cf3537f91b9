#include "core/addresses/ejection_search.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/core/support/random_blocks.h"

namespace rematlas {
namespace {

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
    const std::int64_t a_move = 20 * 200;  // more than a single move can spend
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
