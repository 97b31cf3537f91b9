// Compares the answers of the solvers with recorded answers: see recorded.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/planning/registry.h"
#include "core/solvers/atlas/smallest_budget.h"
#include "core/solvers/hierarchical/block_table.h"
#include "core/solvers/hierarchical/level_model.h"
#include "core/solvers/staged/staged_model.h"
#include "tests/core/support/graphs_of_each_kind.h"
#include "tests/core/support/recorded.h"

namespace rematlas {
namespace {

/// Limits with more time than any solver needs, and without a gap, so only a proof ends a search early.
Limits without_clock() {
    return {.time = std::chrono::hours(10), .gap = 0};
}

void expect_answer(Recorded& recorded, const std::string& what, const Answer& answer) {
    if (const auto* infeasible = std::get_if<Infeasible>(&answer)) {
        recorded.expect(what, "not found,", infeasible->needed.value, "B are needed");
        return;
    }
    const auto& solution = std::get<Solution>(answer);
    recorded.expect(what, solution.overhead, solution.time.value, "ns", solution.peak.value, "B",
                    solution.steps.size(), "steps", digest(solution.steps));
}

void expect_recorded(const std::string& solver,
                     const std::vector<nlohmann::json>& ways = {nlohmann::json::object()}) {
    Recorded recorded(__FILE__, "recorded_" + solver);
    for (const GraphOfAKind& of : graphs_of_each_kind()) {
        for (const nlohmann::json& options : ways) {
            const auto made = make_solver(solver, &options);
            ASSERT_TRUE(made) << made.error().message;
            for (const Bytes budget : of.budgets) {
                expect_answer(recorded,
                              of.name + " at " + std::to_string(budget.value) + " B " + options.dump(),
                              (*made)->solve({of.graph, of.flat}, budget, without_clock(), {}));
            }
        }
    }
}

TEST(RecordedAnswers, OfAtlas) {
    expect_recorded("atlas", {{{"max_moves", 2'500}, {"first_cycle", 500}}});
}
TEST(RecordedAnswers, OfRockmate) {
    expect_recorded("rockmate", {{{"moves_an_op", 10}, {"saved_limits", 6}, {"peak_limits", 5}}});
}
TEST(RecordedAnswers, OfHiremate) {
    expect_recorded("hiremate", {{{"moves_an_op", 5},
                                  {"saved_limits", 4},
                                  {"peak_limits", 4},
                                  {"most_items", 8},
                                  {"level_moves", 500}}});
}
TEST(RecordedAnswers, OfRotor) {
    expect_recorded("rotor", {nlohmann::json::object(), {{"slots", 20}, {"max_stages", 6}}});
}
TEST(RecordedAnswers, OfRotorAtManyBudgets) {
    Recorded recorded(__FILE__, "recorded_rotor_curve");
    const Graph graph = long_chain(ChainKind::uneven, 24, 5);
    const FlatGraph flat = flatten(graph);
    const std::int64_t most = keep_all_peak(flat).value;
    const auto rotor = (*make_solver("rotor"))->up_to({graph, flat}, Bytes(most), without_clock());
    for (int share = 10; share < 100; share += 3)
        expect_answer(recorded, std::to_string(share) + " % of the peak",
                      rotor->solve({graph, flat}, Bytes(most / 100 * share), without_clock(), {}));
}
TEST(RecordedAnswers, OfDtr) {
    std::vector<nlohmann::json> ways;
    for (const char* heuristic : {"dtr", "dtr-eq", "local", "lru", "size", "msps", "random"})
        for (const char* deallocation : {"eager", "ignore", "banish"})
            ways.push_back({{"heuristic", heuristic}, {"deallocation", deallocation}});
    expect_recorded("dtr", ways);
}
TEST(RecordedAnswers, OfChen) {
    expect_recorded("chen-greedy");
    expect_recorded("chen-sqrt");
}
TEST(RecordedAnswers, OfRevolve) {
    expect_recorded("revolve");
}

TEST(RecordedAnswers, OfTheSearchOfTheSmallestBudget) {
    Recorded recorded(__FILE__, "recorded_smallest_budget");
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const FlatGraph flat = flatten(irregular_graph({.forward_ops = 8, .seed = seed}));
        const SmallestBudget found = smallest_feasible(flat, without_clock());
        recorded.expect("irregular " + std::to_string(seed), found.peak.value,
                        found.proven ? "B (proven)," : "B,", found.runs.size(), "runs", digest(found.runs));
    }
}

std::string digest_of(const MilpModel& milp) {
    std::vector<std::int64_t> numbers;
    const auto add = [&](double x) { numbers.push_back(std::llround(std::clamp(x, -1e9, 1e9) * 1e6)); };
    for (const MilpColumn& column : milp.columns) {
        add(column.lower);
        add(column.upper);
        add(column.cost);
        numbers.push_back(column.integer);
    }
    std::for_each(milp.row_lower.begin(), milp.row_lower.end(), add);
    std::for_each(milp.row_upper.begin(), milp.row_upper.end(), add);
    std::for_each(milp.value.begin(), milp.value.end(), add);
    numbers.insert(numbers.end(), milp.row_begin.begin(), milp.row_begin.end());
    numbers.insert(numbers.end(), milp.index.begin(), milp.index.end());
    return digest(numbers);
}

void expect_programme(Recorded& recorded, const std::string& what, const MilpModel& milp) {
    recorded.expect(what, milp.columns.size(), "columns,", milp.rows(), "rows,", milp.value.size(), "entries",
                    digest_of(milp));
}

TEST(RecordedProgrammes, OfStages) {
    Recorded recorded(__FILE__, "recorded_stages");
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const FlatGraph flat = flatten(random_training_graph(seed, {.forward_ops = 5}));
        const std::int64_t budget = (least_peak(flat).bytes.value + keep_all_peak(flat).value) / 2;
        const std::string name = "random " + std::to_string(seed);
        expect_programme(recorded, name + ", least time", StagedModel(flat, budget).milp());
        const std::int64_t most = flat.base_time * 5 / 4;
        expect_programme(recorded, name + ", least time below " + std::to_string(most),
                         StagedModel(flat, budget, {.below = most}).milp());
        expect_programme(recorded, name + ", least peak in " + std::to_string(most),
                         StagedModel(flat, budget, {.most_time = most}).milp());
    }
}

TEST(RecordedProgrammes, OfLevels) {
    using namespace hierarchical;
    Recorded recorded(__FILE__, "recorded_levels");
    const BlockTableOptions brief{.bottom = {.saved_limits = 2, .peak_limits = 2, .moves_an_op = 5},
                                  .level_saved_limits = 2,
                                  .level_peak_limits = 2,
                                  .level_moves = 100};
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 8});
        const FlatGraph flat = flatten(graph);
        BlockTable table({graph, flat}, training_tree(graph, flat, {.most_items = 4}), brief);
        ASSERT_TRUE(table.fill(Deadline(without_clock()), 1));
        for (int block = 0; block < static_cast<int>(table.tree().blocks.size()); ++block) {
            if (table.tree().blocks[block].children.empty()) continue;
            const std::string name = "random " + std::to_string(seed) + ", block " + std::to_string(block);
            expect_programme(recorded, name,
                             LevelModel(table.level_of(block), keep_all_peak(flat).value).milp());
        }
    }
}

}  // namespace
}  // namespace rematlas
