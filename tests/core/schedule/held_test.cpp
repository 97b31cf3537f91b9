#include "core/schedule/held.h"

#include <gtest/gtest.h>

#include "core/planning/request.h"
#include "core/schedule/homes.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

/// The simulator counts bytes but does not list tensors. At each step, the bytes of the listed tensors must
/// add up to the simulator's count.
void expect_the_simulators_bytes(const Graph& graph, const std::vector<Step>& steps) {
    const Result<Simulation> played = simulate(graph, steps);
    ASSERT_TRUE(played) << played.error().message;
    for (std::size_t i = 0; i < steps.size(); ++i)
        ASSERT_EQ(held_during(graph, steps, i).total(), played->steps[i].during)
            << graph.name << ", step " << i;
}

TEST(Held, comes_to_what_the_simulator_says_at_every_step) {
    std::size_t in_place = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 8});
        SolveRequest request{.solver = "dtr", .budget = *parse_budget("85%")};
        const Result<Outcome> outcome = solve(graph, request);
        ASSERT_TRUE(outcome);
        const FlatGraph flat = flatten(graph);
        const std::vector<Step> steps =
            outcome->schedule() ? outcome->schedule()->steps : lower(flat, keep_all_sequence(flat));
        expect_the_simulators_bytes(graph, steps);
        for (const Step& step : steps) in_place += step.kind == StepKind::run_inplace;
    }
    EXPECT_GT(in_place, 0u) << "the graphs must try what is written in place";
}

TEST(Held, counts_an_output_twice_while_its_earlier_copy_is_there) {
    const Graph graph = small_graph();
    const std::vector<Step> steps{Step::run(OpId(0)), Step::run(OpId(0))};
    expect_the_simulators_bytes(graph, steps);
    const Held held = held_during(graph, steps, 1);
    ASSERT_EQ(held.tensors.size(), 2u) << "x and a";
    EXPECT_EQ(held.tensors[1].bytes, Bytes(200));
}

TEST(Held, counts_copies_to_the_host_and_back) {
    Graph graph = small_graph();
    graph.device = Device{};
    graph.device->links.to_host_bytes_per_second = graph.device->links.to_device_bytes_per_second = 1e9;
    const TensorId a(1);
    expect_the_simulators_bytes(
        graph, {Step::run(OpId(0)), Step::offload(a), Step::run(OpId(1)), Step::free(a), Step::run(OpId(2)),
                Step::fetch(a), Step::run(OpId(3))});
}

TEST(AlwaysOnDevice, AreResidentsThatNeverLeave) {
    const Graph graph = small_graph();
    const TensorId x(0);
    EXPECT_EQ(always_on_device(graph, {}), Bytes(10));
    EXPECT_EQ(always_on_device(graph, {Step::free(TensorId(1))}), Bytes(10));
    EXPECT_EQ(always_on_device(graph, {Step::offload(x), Step::free(x), Step::fetch(x)}), Bytes(0));
    EXPECT_EQ(always_on_device(graph, {}, {.on_host = {x}}), Bytes(0));
    EXPECT_EQ(always_on_device(graph, {}, {.on_host = {x}, .stays = {x}}), Bytes(10));
}

}  // namespace
}  // namespace rematlas
