// Tests the time that a plan with copies takes if its copies go over its own link or over another link, and
// the waits of the plan's ops.
#include "app/explorer/loaded/over_link.h"

#include <gtest/gtest.h>

#include "app/explorer/models/why.h"
#include "core/planning/known_answers.h"
#include "tests/app/explorer/training_chain.h"
#include "tests/core/support/small_graph.h"

namespace rematlas::explorer {
namespace {

Links both_ways(double bytes_per_second) {
    return {.to_host_bytes_per_second = bytes_per_second, .to_device_bytes_per_second = bytes_per_second};
}

constexpr OpId a(0), b(1), loss(2), grad_b(3), grad_a(4);

/// Returns a plan that offloads tensor 1 (100 bytes) while the loss runs. A copy takes 100 ns, and an op
/// takes 10 ns.
SchedulePtr away_in_the_loss() {
    Graph graph = small_graph();
    graph.device = Device{.name = "card", .links = both_ways(1e9)};
    Schedule plan;
    const TensorId t(1);
    plan.steps = {Step::run(a),    Step::run(b),   Step::offload(t),  Step::free(t),
                  Step::run(loss), Step::fetch(t), Step::run(grad_b), Step::run(grad_a)};
    return prepare_schedule(prepare_graph(std::move(graph), "", "small.graph.json"), plan);
}

TEST(PlanCopies, AreJudgedOverAnotherLinkWithoutSolving) {
    const SchedulePtr plan = away_in_the_loss();
    ASSERT_TRUE(plan->ok()) << plan->report.violations.front();
    const OverLink own = over_own_link(*plan);
    EXPECT_EQ(own.time, Nanoseconds(250));
    EXPECT_EQ(own.waits, Nanoseconds(200));
    EXPECT_DOUBLE_EQ(own.overhead, 5);
    const Result<OverLink> faster = over_link(*plan, both_ways(1e10));
    ASSERT_TRUE(faster) << faster.error().message;
    EXPECT_EQ(faster->waits, Nanoseconds(20));
    EXPECT_EQ(faster->time, Nanoseconds(70));
    EXPECT_EQ(over_link(*plan, both_ways(1e9))->time, own.time);
}

TEST(PlanCopies, AreNotJudgedWhereAStepWouldComeTooEarly) {
    Graph graph = small_graph();
    graph.device = Device{.name = "card", .links = both_ways(1e11)};
    const TensorId t(1);
    Schedule plan;
    plan.steps = {Step::run(a),    Step::run(b),  Step::offload(t), Step::free(t),     Step::fetch(t),
                  Step::run(loss), Step::free(t), Step::fetch(t),   Step::run(grad_b), Step::run(grad_a)};
    const SchedulePtr loaded = prepare_schedule(prepare_graph(std::move(graph), "", "s.graph.json"), plan);
    ASSERT_TRUE(loaded->ok()) << loaded->report.violations.front();
    const Result<OverLink> slower = over_link(*loaded, both_ways(1e9));
    ASSERT_FALSE(slower) << "it is freed before it is back";
    EXPECT_NE(slower.error().message.find("on its way"), std::string::npos) << slower.error().message;
}

TEST(PlanCopies, TellTheLeastThatMayHaveBeenAsked) {
    const SchedulePtr plan = away_in_the_loss();
    const Graph& graph = plan->graph->graph;
    EXPECT_EQ(copies_of(graph, plan->schedule).what, Offload::activations);
    EXPECT_EQ(copies_of(graph, plan->schedule).links, both_ways(1e9));
    Schedule other = plan->schedule;
    other.links = both_ways(3e9);
    EXPECT_EQ(copies_of(graph, other).links, both_ways(3e9));
    other.homes.on_host = {TensorId(0)};
    EXPECT_EQ(copies_of(graph, other).what, Offload::all)
        << "an activation is away and a resident at home there";
    other.steps = {Step::run(a)};
    EXPECT_EQ(copies_of(graph, other).what, Offload::weights);
    other.homes = {};
    EXPECT_EQ(copies_of(graph, other), Copies{});
}

TEST(PlanCopies, AnOpTellsWhatItWaitsFor) {
    const SchedulePtr plan = away_in_the_loss();
    const Waiting waiting = waiting_of(*plan, std::vector{grad_b});
    EXPECT_EQ(waiting.time, Nanoseconds(100));
    EXPECT_EQ(waiting.tensor, TensorId(1));
    EXPECT_EQ(waiting_of(*plan, std::vector{a, b, loss, grad_a}).time, Nanoseconds(0));
}

}  // namespace
}  // namespace rematlas::explorer
