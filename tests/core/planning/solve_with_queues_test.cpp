// Graphs whose collectives run beside compute: exhaustive search, solvers, simulator, checker and bounds must
// agree.
#include "core/planning/solve_with_queues.h"

#include <gtest/gtest.h>

#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/planning/request.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "core/solving/beside_compute.h"
#include "tests/core/support/brute_force_with_queues.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/random_queues.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kGraphs = 2500;

Graph small_graph(std::uint64_t seed) {
    return with_random_queues(random_training_graph(seed, {.forward_ops = 2, .free_ops = false}), seed);
}

/// Three layers whose weights are gathered before each use, and gradients that are scattered.
Graph sharded_layers(int layers, std::int64_t compute, std::int64_t wire) {
    Graph graph;
    graph.name = "sharded layers";
    const auto tensor = [&](std::string name, std::int64_t bytes, TensorKind kind) {
        graph.tensors.push_back({std::move(name), Bytes(bytes), kind});
        return TensorId(static_cast<std::int64_t>(graph.tensors.size()) - 1);
    };
    const auto op = [&](std::string name, Phase phase, std::int64_t time, std::vector<TensorId> in,
                        std::vector<TensorId> out, bool is_collective) {
        Op made{.name = std::move(name), .time = Nanoseconds(time)};
        made.inputs = std::move(in);
        made.outputs = std::move(out);
        made.phase = phase;
        if (is_collective) made.collective = Collective{"fsdp", Bytes(wire)};
        graph.ops.push_back(std::move(made));
    };
    std::vector<TensorId> shards, wholes, kept{tensor("x", 10, TensorKind::input)};
    for (int i = 0; i < layers; ++i) {
        shards.push_back(tensor("shard", 5, TensorKind::parameter));
        wholes.push_back(tensor("whole", 40, TensorKind::activation));
        kept.push_back(tensor("a", 10, TensorKind::activation));
        op("gather", Phase::forward, wire, {shards.back()}, {wholes.back()}, true);
        op("layer", Phase::forward, compute, {kept[kept.size() - 2], wholes.back()}, {kept.back()}, false);
    }
    TensorId gradient = tensor("g", 10, TensorKind::gradient);
    op("loss", Phase::loss, compute, {kept.back()}, {gradient}, false);
    for (int i = layers; i-- > 0;) {
        const TensorId before = tensor("g", 10, TensorKind::gradient),
                       full = tensor("dw", 40, TensorKind::gradient),
                       part = tensor("ds", 5, TensorKind::gradient);
        op("layer backward", Phase::backward, 2 * compute,
           {gradient, kept[static_cast<std::size_t>(i)], wholes[static_cast<std::size_t>(i)]}, {before, full},
           false);
        op("scatter", Phase::backward, wire, {full}, {part}, true);
        graph.results.push_back(part);
        gradient = before;
    }
    return graph;
}

TEST(SolveWithQueues, is_between_the_bound_and_exhaustive_search) {
    int compared = 0, equal = 0, reruns = 0, beside = 0;
    double longer = 0;
    for (std::uint64_t seed = 0; seed < kGraphs; ++seed) {
        const Graph graph = small_graph(seed);
        ASSERT_TRUE(validate(graph)) << validate(graph).error().message;
        if (!has_queues(graph) || graph.tensors.size() > 14) continue;
        const FlatGraph flat = flatten(graph);
        const std::int64_t least = least_peak(flat).bytes.value, most = keep_all_peak(flat).value;
        const Bytes budget(least + (most - least) * static_cast<std::int64_t>(seed % 5) / 4);
        const Result<Outcome> outcome =
            solve(Problem{graph, flat},
                  {.budget = *parse_budget(std::to_string(budget.value)), .limits = {.time = 50ms}});
        ASSERT_TRUE(outcome) << seed << ": " << outcome.error().message;
        const std::optional<std::int64_t> optimum = brute_force_with_queues(graph, budget.value, 20'000);
        const Schedule* schedule = outcome->schedule();
        if (!schedule) {
            EXPECT_FALSE(optimum && outcome->infeasible()->proven) << seed;
            continue;
        }
        ASSERT_LE(schedule->peak, budget) << seed;
        ASSERT_TRUE(schedule->bound) << seed;
        const double bound = schedule->bound->overhead * static_cast<double>(flat.base_time);
        ASSERT_LE(bound, static_cast<double>(schedule->time.value) * (1 + 1e-9)) << seed;
        if (!optimum) continue;
        ASSERT_GE(schedule->time.value, *optimum) << seed;
        ASSERT_LE(bound, static_cast<double>(*optimum) * (1 + 1e-9)) << seed;
        ++compared;
        equal += schedule->time.value == *optimum;
        longer += static_cast<double>(schedule->time.value) / static_cast<double>(*optimum) - 1;
        std::int64_t serial = 0;
        for (const Step& step : schedule->steps)
            if (step.runs()) serial += graph.ops[step.op()].time.value;
        beside += schedule->time.value < serial;
        reruns += check(graph, *schedule).reruns > 0;
    }
    RecordProperty("compared", compared);
    RecordProperty("equal", equal);
    std::printf("%d compared, %d optimal, %.3f %% longer, %d beside, %d with reruns\n", compared, equal,
                100 * longer / compared, beside, reruns);
    EXPECT_GT(compared, 1000);
    EXPECT_GT(equal, compared * 9 / 10);
    EXPECT_GT(beside, 300);
    EXPECT_GT(reruns, 100);
}

TEST(SolveWithQueues, hides_gathers_and_scatters_where_there_is_room) {
    const Graph graph = sharded_layers(6, 100, 80);
    ASSERT_TRUE(validate(graph)) << validate(graph).error().message;
    const FlatGraph flat = flatten(graph);
    const Result<Outcome> outcome =
        solve(Problem{graph, flat}, {.budget = *parse_budget("100%"), .limits = {.time = 500ms}});
    ASSERT_TRUE(outcome && outcome->schedule());
    // The first gather and the last scatter cannot be hidden.
    EXPECT_LE(outcome->schedule()->time.value, base_time(graph).value + 2 * 80);
}

}  // namespace
}  // namespace rematlas
