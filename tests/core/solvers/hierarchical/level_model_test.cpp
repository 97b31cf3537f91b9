// Compares the integer program of a level with an enumeration of all schedules of the program's class.
#include "core/solvers/hierarchical/level_model.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/solvers/hierarchical/block_table.h"
#include "core/solvers/hierarchical/level_search.h"
#include "tests/core/support/random_graph.h"

namespace rematlas::hierarchical {
namespace {

/// Levels of two or three blocks with at most three options each. The levels refer to `table`.
struct SmallLevels {
    explicit SmallLevels(std::uint64_t seed)
        : graph(random_training_graph(seed, {.forward_ops = 4 + static_cast<int>(seed % 3)})),
          flat(flatten(graph)),
          table(Problem{graph, flat}, training_tree(graph, flat, {.most_items = 3, .single_ops = true}),
                options) {
        table.fill(Deadline({.time = std::chrono::hours(1)}), 1);
        for (int block = 0; block < static_cast<int>(table.tree().blocks.size()); ++block) {
            const auto& children = table.tree().blocks[block].children;
            bool few = children.size() == 2 || children.size() == 3;
            for (const int child : children) few = few && table.options_of(child).options.size() <= 3;
            if (few && (block == 0 || table.part(block).outside >= 0)) blocks.push_back(block);
        }
    }
    BlockTableOptions options{.bottom = {.saved_limits = 2, .peak_limits = 1, .moves_an_op = 10},
                              .level_saved_limits = 2,
                              .level_peak_limits = 1,
                              .level_moves = 100};
    Graph graph;
    FlatGraph flat;
    BlockTable table;
    std::vector<int> blocks;
};

/// Calls `see` with each schedule of the integer program's class.
class Enumeration {
  public:
    Enumeration(const Level& level, std::function<void(const LevelSchedule&)> see)
        : level_(level), see_(std::move(see)), now_{{}, std::vector<std::int32_t>(level.size(), -1)} {}
    void run() { stage(0); }

  private:
    int stages() const { return 2 * level_.size() + level_.has_outside(); }

    void stage(int s) {
        if (s == stages()) return see_(now_);
        block(s, 0);
    }

    /// Chooses whether block `b` runs forward in stage `s`, and with which option.
    void block(int s, int b) {
        const bool forward = s < level_.size(), outside = level_.has_outside() && s == level_.size();
        const int last = forward ? s : outside ? level_.size() - 1 : stages() - 1 - s;
        if (b > last) {
            if (forward) return stage(s + 1);
            if (!outside && now_.option[last] < 0) return;
            now_.visits.push_back(outside ? Visit{level_.size(), Visit::Kind::outside}
                                          : Visit{last, Visit::Kind::backward});
            stage(s + 1);
            now_.visits.pop_back();
            return;
        }
        if (!forward || b < s) block(s, b + 1);
        now_.visits.push_back({b, Visit::Kind::advance});
        block(s, b + 1);
        if (now_.option[b] < 0) {
            now_.visits.back().kind = Visit::Kind::save;
            for (int k = 0; k < static_cast<int>(level_.options(b).size()); ++k) {
                now_.option[b] = k;
                block(s, b + 1);
            }
            now_.option[b] = -1;
        }
        now_.visits.pop_back();
    }

    const Level& level_;
    const std::function<void(const LevelSchedule&)> see_;
    LevelSchedule now_;
};

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

struct Seen {
    LevelSchedule schedule;
    LevelCost cost;
};

/// Returns one schedule for each pair of time and peak.
std::vector<Seen> all_schedules(const Level& level) {
    std::map<std::pair<std::int64_t, std::int64_t>, Seen> seen;
    Enumeration(level, [&](const LevelSchedule& schedule) {
        const LevelCost cost = level.cost_of(schedule, kNone);
        if (cost.executable) seen.try_emplace({cost.time, cost.peak}, schedule, cost);
    }).run();
    std::vector<Seen> all;
    for (auto& [key, one] : seen) all.push_back(std::move(one));
    return all;
}

std::int64_t least_time(const std::vector<Seen>& all, std::int64_t budget) {
    std::int64_t least = kNone;
    for (const Seen& one : all)
        if (one.cost.peak <= budget) least = std::min(least, one.cost.time);
    return least;
}

/// Returns the least peak of a schedule, and the budgets a quarter and half of the way to the largest peak.
std::vector<std::int64_t> tight_budgets(const std::vector<Seen>& all) {
    std::int64_t least = kNone, most = 0;
    for (const Seen& one : all) {
        least = std::min(least, one.cost.peak);
        most = std::max(most, one.cost.peak);
    }
    return {least, (3 * least + most) / 4, (least + most) / 2};
}

bool satisfies(const MilpModel& milp, std::span<const double> point) {
    for (std::size_t r = 0; r < milp.rows(); ++r) {
        double sum = 0;
        for (int e = milp.row_begin[r]; e < milp.row_begin[r + 1]; ++e)
            sum += milp.value[e] * point[milp.index[e]];
        if (sum < milp.row_lower[r] - 1e-6 || sum > milp.row_upper[r] + 1e-6) return false;
    }
    for (std::size_t c = 0; c < milp.columns.size(); ++c)
        if (point[c] < milp.columns[c].lower || point[c] > milp.columns[c].upper) return false;
    return true;
}

TEST(LevelModel, HasThePointOfEveryScheduleOfItsClassAndNoPointOfOneAboveTheBudget) {
    int fits = 0, above = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SmallLevels levels(seed);
        for (const int block : levels.blocks) {
            const Level level = levels.table.level_of(block);
            const std::vector<Seen> all = all_schedules(level);
            for (std::size_t i = 0; i < all.size(); i += 1 + all.size() / 5) {
                const std::int64_t budget = all[i].cost.peak;
                const LevelModel model(level, budget);
                for (std::size_t j = 0; j < all.size(); j += 1 + all.size() / 20) {
                    const auto point = model.encode(all[j].schedule);
                    ASSERT_TRUE(point);
                    const bool fit = all[j].cost.peak <= budget;
                    ASSERT_EQ(satisfies(model.milp(), *point), fit) << seed << " " << block;
                    EXPECT_EQ(model.decode(*point).visits, all[j].schedule.visits);
                    EXPECT_EQ(model.decode(*point).option, all[j].schedule.option);
                    ++(fit ? fits : above);
                }
            }
        }
    }
    EXPECT_GT(fits, 500);
    EXPECT_GT(above, 500);
}

TEST(LevelModel, IsSolvedToTheBestScheduleOfItsClass) {
    for (const MilpLibrary library : milp_libraries()) {
        int better = 0, solved = 0;
        for (std::uint64_t seed = 1; seed <= 12; ++seed) {
            SmallLevels levels(seed);
            for (const int block : levels.blocks) {
                const Level level = levels.table.level_of(block);
                const std::vector<Seen> all = all_schedules(level);
                for (const std::int64_t budget : tight_budgets(all)) {
                    const LevelSchedule start = level.once(std::vector<std::int32_t>(level.size(), 0));
                    const LevelSchedule found = solve_programme(
                        level, start, budget, {.library = library, .time = std::chrono::hours(1), .gap = 0},
                        Deadline({.time = std::chrono::hours(1)}));
                    const LevelCost cost = level.cost_of(found, budget);
                    EXPECT_EQ(cost.excess, 0);
                    EXPECT_EQ(cost.time, least_time(all, budget)) << seed << " " << block << " " << budget;
                    ++solved;
                    better += level.cost_of(start, budget).excess > 0;
                }
            }
        }
        EXPECT_GT(solved, 50);
        EXPECT_GT(better, 20);
    }
}

TEST(LevelSearch, IsMostlyAsGoodAsTheBestScheduleOfTheProgrammesClass) {
    int searched = 0, reached = 0;
    for (std::uint64_t seed = 1; seed <= 16; ++seed) {
        SmallLevels levels(seed);
        for (const int block : levels.blocks) {
            const Level level = levels.table.level_of(block);
            const std::vector<Seen> all = all_schedules(level);
            const LevelSchedule start = level.once(std::vector<std::int32_t>(level.size(), 0));
            for (const std::int64_t budget : tight_budgets(all)) {
                const LevelSchedule found =
                    search_level(level, start, {.budget = budget, .seed = seed, .moves = 1000},
                                 Deadline({.time = std::chrono::hours(1)}));
                const LevelCost cost = level.cost_of(found, budget);
                ASSERT_TRUE(cost.executable);
                ++searched;
                reached += cost.excess == 0 && cost.time <= least_time(all, budget);
            }
        }
    }
    EXPECT_GT(searched, 100);
    EXPECT_GT(reached, searched * 95 / 100);
}

TEST(LevelModel, KeepsAStartThatItCannotImprove) {
    SmallLevels levels(1);
    ASSERT_FALSE(levels.blocks.empty());
    const Level level = levels.table.level_of(levels.blocks.front());
    const LevelSchedule start = level.once(std::vector<std::int32_t>(level.size(), 0));
    const LevelSchedule same = solve_programme(level, start, level.cost_of(start, kNone).peak, {},
                                               Deadline({.time = std::chrono::hours(1)}));
    EXPECT_EQ(same.visits, start.visits);
    const LevelSchedule late = solve_programme(level, start, 0, {}, Deadline({.time = {}}));
    EXPECT_EQ(late.visits, start.visits);
}

}  // namespace
}  // namespace rematlas::hierarchical
