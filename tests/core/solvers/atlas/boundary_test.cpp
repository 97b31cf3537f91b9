// Tests steps whose forward and backward are compiled apart. Each op runs at most once on each side of the
// boundary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/planning/registry.h"
#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

Graph with_boundary(Graph graph) {
    for (OpId id : graph.ops.ids()) {
        if (graph.ops[id].phase != Phase::loss) continue;
        graph.ops[id].recomputable = false;
        graph.boundary = id;
    }
    return graph;
}

SolveRequest request_of(std::int64_t budget, const char* solver = "atlas") {
    return {.solver = solver, .budget = Bytes(budget), .limits = {.time = std::chrono::hours(1), .gap = 0}};
}

/// Returns a request whose search ends after exactly `moves` moves, on a fast and on a slow machine.
SolveRequest search_of(std::int64_t budget, int moves) {
    SolveRequest request = request_of(budget);
    request.options = std::make_shared<const nlohmann::json>(
        nlohmann::json{{"max_moves", moves}, {"first_cycle", moves / 5}});
    return request;
}

TEST(Boundary, what_a_file_says_of_it_reads_back) {
    const Graph graph = with_boundary(small_graph());
    const std::string text = graph_text(graph);
    EXPECT_NE(text.find("\"boundary\": 2"), std::string::npos);
    EXPECT_EQ(parse_graph(text, "g")->boundary, OpId(2));
    EXPECT_FALSE(parse_graph(graph_text(small_graph()), "g")->boundary);
}

TEST(Boundary, is_an_op_of_the_loss_that_runs_once) {
    Graph graph = small_graph();
    graph.boundary = OpId(2);
    EXPECT_NE(validate(graph).error().message.find("which is no op of phase loss that runs once"),
              std::string::npos);
    graph = with_boundary(small_graph());
    graph.boundary = OpId(1);
    EXPECT_FALSE(validate(graph));
    graph.boundary = OpId(77);
    EXPECT_FALSE(validate(graph));
}

TEST(Boundary, an_op_runs_once_on_each_side) {
    const Graph graph = with_boundary(small_graph());
    const auto steps = [](std::vector<int> ops) {
        std::vector<Step> runs;
        for (int op : ops) runs.push_back(Step::run(OpId(op)));
        return runs;
    };
    const auto holds = [&](std::vector<int> ops) {
        Schedule schedule;
        schedule.steps = steps(ops);
        const bool checks = check(graph, schedule).ok();
        EXPECT_EQ(static_cast<bool>(simulate(graph, steps(ops))), checks);
        return checks;
    };
    EXPECT_TRUE(holds({0, 1, 2, 3, 4}));
    EXPECT_TRUE(holds({0, 1, 2, 0, 1, 3, 4})) << "once more behind the boundary";
    EXPECT_FALSE(holds({0, 1, 0, 2, 3, 4})) << "twice before it";
    EXPECT_FALSE(holds({0, 1, 2, 0, 3, 0, 4})) << "twice behind it";
    EXPECT_FALSE(holds({0, 1, 2, 3, 1, 4})) << "read behind it, then made again";
    const FlatGraph flat = flatten(graph);
    EXPECT_EQ(once_a_side(flat, {0, 1, 0, 2, 0, 3, 0, 4}), (RunSequence{0, 1, 2, 0, 3, 4}));
    EXPECT_EQ(once_a_side(flatten(small_graph()), {0, 1, 0, 2, 0, 3, 0, 4}).size(), 8u);
}

TEST(Boundary, atlas_finds_the_optimum_of_small_steps) {
    int bound_by_it = 0;
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        const Graph plain = random_training_graph(seed);
        const Graph graph = with_boundary(plain);
        const FlatGraph flat = flatten(graph);
        const std::int64_t least = brute_force_least_peak(flat), most = keep_all_peak(flat).value;
        if (least > brute_force_least_peak(flatten(plain))) ++bound_by_it;
        for (const std::int64_t budget : {least - 1, least, (least + most) / 2, most}) {
            const std::optional<Optimum> optimum = brute_force(flat, budget);
            const Result<Outcome> outcome = solve(graph, search_of(budget, 100'000));
            ASSERT_TRUE(outcome) << outcome.error().message;
            ASSERT_EQ(outcome->schedule() != nullptr, optimum.has_value())
                << "seed " << seed << " at " << budget;
            if (!optimum) continue;
            EXPECT_EQ(outcome->schedule()->time.value, optimum->time) << "seed " << seed << " at " << budget;
        }
    }
    EXPECT_GT(bound_by_it, 0) << "no graph in which more reruns would help";
}

TEST(Boundary, schedules_of_a_transformer_have_one_run_a_side) {
    const Graph graph = with_boundary(gpt_graph({.layers = 6}));
    const FlatGraph flat = flatten(graph);
    const std::int64_t peak = keep_all_peak(flat).value;
    for (const int share : {80, 60, 45}) {
        const Result<Outcome> outcome = solve(graph, search_of(peak / 100 * share, 50'000));
        ASSERT_TRUE(outcome) << outcome.error().message;
        ASSERT_TRUE(outcome->schedule()) << share;
        const RunSequence runs = *runs_of(outcome->schedule()->steps);
        EXPECT_EQ(once_a_side(flat, runs), runs);
        EXPECT_TRUE(check(graph, *outcome->schedule()).ok());
    }
}

TEST(Boundary, solvers_and_rules_that_do_not_know_it_are_refused) {
    const Graph graph = with_boundary(small_graph());
    for (const SolverEntry* solver : all_solvers()) {
        const Result<Outcome> outcome =
            solve(graph, request_of(1000, std::string(solver->traits.name).c_str()));
        EXPECT_EQ(static_cast<bool>(outcome), solver->traits.boundary) << solver->traits.name;
        if (!outcome) {
            EXPECT_NE(outcome.error().message.find("atlas"), std::string::npos);
        }
    }
    SolveRequest pinned = request_of(1000);
    pinned.pins = {{.pattern = "a", .kind = PinKind::keep}};
    EXPECT_NE(solve(graph, pinned).error().message.find("pins"), std::string::npos);
    SolveRequest copying = request_of(1000);
    copying.copies = {.what = Offload::activations,
                      .links = {.to_host_bytes_per_second = 1e9, .to_device_bytes_per_second = 1e9}};
    EXPECT_NE(solve(graph, copying).error().message.find("copies"), std::string::npos);
}

}  // namespace
}  // namespace rematlas
