#include "core/addresses/order_search.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/core/support/random_blocks.h"

namespace rematlas {
namespace {

Packing pack_with(const MemoryBlocks& blocks, std::int64_t effort, std::uint64_t seed = 1) {
    std::int64_t spent = 0;
    return pack_by_orders(blocks, live_peak(blocks), {.seed = seed, .effort = effort}, spent);
}

TEST(OrderSearch, mostly_finds_the_least_arena_of_small_problems) {
    std::mt19937 random(1);
    int found = 0, at_once = 0;
    for (int round = 0; round < 300; ++round) {
        const MemoryBlocks blocks = random_blocks(random, 4 + round % 4, 6, 5, 1 + round % 3);
        const std::int64_t least = least_top(blocks);
        const Packing plain = pack_with(blocks, 0), packing = pack_with(blocks, 200'000);
        expect_sound(blocks, plain);
        expect_sound(blocks, packing);
        EXPECT_GE(packing.top, least);
        EXPECT_LE(packing.top, plain.top);
        found += packing.top == least;
        at_once += plain.top == least;
    }
    EXPECT_GE(at_once, 284);
    EXPECT_GE(found, 298);
}

TEST(OrderSearch, packs_many_blocks_well_and_stays_sound) {
    std::mt19937 random(2);
    double plain = 0, improved = 0;
    for (int round = 0; round < 20; ++round) {
        MemoryBlocks blocks = random_blocks(random, 60, 50, 40, 1 + round % 3);
        for (BlockSegment& s : blocks.segments) s.width *= 16;
        const double floor = static_cast<double>(live_peak(blocks));
        const Packing first = pack_with(blocks, 0), packing = pack_with(blocks, 4'000'000);
        expect_sound(blocks, first);
        expect_sound(blocks, packing);
        plain += static_cast<double>(first.top) / floor;
        improved += static_cast<double>(packing.top) / floor;
    }
    EXPECT_LE(plain / 20, 1.06);
    EXPECT_LE(improved / 20, 1.028);
}

TEST(OrderSearch, spends_what_it_may_and_no_more_where_the_floor_is_reached) {
    std::mt19937 random(3);
    const MemoryBlocks blocks = random_blocks(random, 100, 40, 50, 2);
    const auto spend = [&](std::int64_t floor, std::int64_t effort) {
        std::int64_t spent = 1000;
        pack_by_orders(blocks, floor, {.seed = 1, .effort = effort}, spent);
        return spent - 1000;
    };
    const std::int64_t plain = spend(0, 0), high = stacked(blocks).top;
    EXPECT_LE(spend(high, 1'000'000'000), plain) << "any packing will do";
    const std::int64_t more = spend(0, 10 * plain);
    EXPECT_GE(more, 10 * plain);
    EXPECT_LT(more, 12 * plain);
}

}  // namespace
}  // namespace rematlas
