// Compares the costs that a level reports for its schedules with the costs of the corresponding runs.
#include "core/solvers/hierarchical/level.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/solvers/annealing/random.h"
#include "core/solvers/hierarchical/block_table.h"
#include "core/solvers/hierarchical/level_search.h"
#include "tests/core/support/random_graph.h"

namespace rematlas::hierarchical {
namespace {

Deadline in_a_minute() {
    return Deadline({.time = std::chrono::minutes(1)});
}

struct RandomLevels {
    explicit RandomLevels(std::uint64_t seed, bool run_once)
        : graph(random_training_graph(seed, {.forward_ops = 12, .run_once = run_once})),
          flat(flatten(graph)),
          table(Problem{graph, flat}, training_tree(graph, flat, {.most_items = 3}), options) {
        table.fill(in_a_minute(), 1);
    }
    BlockTableOptions options{.bottom = {.saved_limits = 3, .peak_limits = 2, .moves_an_op = 10},
                              .level_moves = 200};
    Graph graph;
    FlatGraph flat;
    BlockTable table;
};

LevelSchedule random_schedule(const Level& level, std::uint64_t seed) {
    annealing::Random random(seed);
    LevelSchedule schedule = level.once(std::vector<std::int32_t>(level.size(), 0));
    for (int block = 0; block < level.size(); ++block)
        schedule.option[block] = random.below(level.options(block).size());
    for (int advances = random.below(6); advances > 0; --advances)
        schedule.visits.insert(schedule.visits.begin() + random.below(schedule.visits.size()),
                               {random.below(level.size()), Visit::Kind::advance});
    // Replaces some save visits by advances, and saves these blocks just before their backward visits.
    for (std::size_t i = 0; i < schedule.visits.size(); ++i) {
        const Visit visit = schedule.visits[i];
        if (visit.kind != Visit::Kind::save || random.below(3) > 0) continue;
        const auto backward = std::find(schedule.visits.begin(), schedule.visits.end(),
                                        Visit{visit.block, Visit::Kind::backward});
        schedule.visits.insert(backward, visit);
        schedule.visits[i].kind = Visit::Kind::advance;
    }
    return schedule;
}

struct Compared {
    int seen = 0, equal = 0;
};

void compare(const Level& level, const FlatGraph& flat, const LevelSchedule& schedule, Compared& so_far) {
    const LevelCost cost = level.cost_of(schedule, 0);
    ASSERT_TRUE(cost.executable);
    const RunSequence runs = level.lowered(schedule);
    ASSERT_TRUE(is_executable(flat, runs));
    const SequenceCost exact = cost_of(flat, runs);
    EXPECT_LE(exact.peak - flat.resident_bytes, cost.peak);
    EXPECT_LE(exact.time, cost.time);
    EXPECT_EQ(cost.time, level.time_of(schedule));
    ++so_far.seen;
    so_far.equal += exact.peak - flat.resident_bytes == cost.peak && exact.time == cost.time;
}

TEST(Level, TakesNoLessThanTheRunsOfAnySchedule) {
    Compared compared;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const RandomLevels levels(seed, true);
        const Level level = levels.table.level_of(0);
        for (std::uint64_t draw = 1; draw <= 50; ++draw) {
            SCOPED_TRACE(1000 * seed + draw);
            const LevelSchedule schedule = random_schedule(level, 1000 * seed + draw);
            if (level.cost_of(schedule, 0).executable) compare(level, levels.flat, schedule, compared);
        }
    }
    EXPECT_GT(compared.seen, 400);
    EXPECT_GT(compared.equal, compared.seen / 3);
}

TEST(Level, TakesMostlyWhatTheRunsOfAFoundScheduleTake) {
    Compared compared;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const RandomLevels levels(seed, false);
        const Level level = levels.table.level_of(0);
        for (int percent = 50; percent < 100; percent += 5) {
            SCOPED_TRACE(1000 * seed + percent);
            const LevelSchedule start = random_schedule(level, 1000 * seed + percent);
            if (!level.cost_of(start, 0).executable) continue;
            const std::int64_t budget = level.cost_of(start, 0).peak * percent / 100;
            compare(level, levels.flat,
                    search_level(level, start, {.budget = budget, .seed = seed, .moves = 200}, in_a_minute()),
                    compared);
        }
    }
    EXPECT_GT(compared.seen, 80);
    EXPECT_GE(compared.equal, compared.seen * 8 / 10)
        << "what the options cost is nearly always all there is";
}

int advances(const LevelSchedule& schedule) {
    return static_cast<int>(std::count_if(schedule.visits.begin(), schedule.visits.end(),
                                          [](Visit visit) { return visit.kind == Visit::Kind::advance; }));
}

/// Returns all visits except the advances.
std::vector<Visit> without_advances(const LevelSchedule& schedule) {
    std::vector<Visit> visits;
    for (const Visit visit : schedule.visits)
        if (visit.kind != Visit::Kind::advance) visits.push_back(visit);
    return visits;
}

TEST(LevelSearch, OneMoveTakesAnotherOptionOrAddsRemovesOrMovesAVisit) {
    int options = 0, added = 0, removed = 0, moved = 0, saved_later = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const RandomLevels levels(seed, false);
        const Level level = levels.table.level_of(0);
        for (std::uint64_t draw = 1; draw <= 200; ++draw) {
            const LevelSchedule start = random_schedule(level, 1000 * seed + draw);
            if (!level.cost_of(start, 0).executable) continue;
            const LevelSchedule found = search_level(
                level, start, {.budget = 0, .seed = 1000 * seed + draw, .moves = 1}, in_a_minute());
            ASSERT_TRUE(level.cost_of(found, 0).executable);
            EXPECT_LE(level.cost_of(found, 0).excess, level.cost_of(start, 0).excess);
            const bool same_saves = without_advances(found) == without_advances(start);
            options += found.option != start.option && found.visits == start.visits;
            added += same_saves && advances(found) == advances(start) + 1;
            removed += same_saves && advances(found) == advances(start) - 1;
            moved += found.visits.size() == start.visits.size() && found.visits != start.visits;
            saved_later += !same_saves && advances(found) > advances(start);
        }
    }
    for (const int count : {options, added, removed, moved, saved_later}) EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace rematlas::hierarchical
