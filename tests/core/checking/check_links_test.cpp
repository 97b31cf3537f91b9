// Tests links with a latency, links whose speed depends on copies in the other direction, and the bytes of
// copies on the host. The checker and the simulator must agree.
#include <gtest/gtest.h>

#include "core/checking/check.h"
#include "core/schedule/simulate.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

/// The small graph with links on which a copy of 100 bytes takes 10 ns while the other direction is idle.
class CheckLinks : public testing::Test {
  protected:
    void SetUp() override {
        graph_ = small_graph();
        graph_.device =
            Device{.name = "d",
                   .memory = Bytes(0),
                   .links = {.to_host_bytes_per_second = 1e10, .to_device_bytes_per_second = 1e10}};
    }

    CheckReport played(const std::vector<Step>& steps) {
        Schedule schedule;
        schedule.steps = steps;
        const CheckReport report = check(graph_, schedule);
        const Result<Simulation> simulated = simulate(graph_, steps);
        EXPECT_TRUE(report.ok()) << report.violations.front();
        EXPECT_TRUE(simulated) << simulated.error().message;
        if (simulated) {
            EXPECT_EQ(simulated->time, report.time);
            EXPECT_EQ(simulated->host_peak, report.host_peak);
        }
        return report;
    }

    /// Returns steps in which `a` is copied out, and fetched while `b` is copied out; then the backward runs.
    static std::vector<Step> both_ways() {
        return {Step::run(OpId(0)), Step::offload(a),   Step::run(OpId(1)),
                Step::free(a),      Step::offload(b),   Step::fetch(a),
                Step::run(OpId(2)), Step::run(OpId(3)), Step::run(OpId(4))};
    }

    static constexpr TensorId a{1}, b{2};
    Graph graph_;
};

TEST_F(CheckLinks, copies_both_ways_do_not_mind_each_other_where_the_graph_does_not_say_so) {
    const CheckReport report = played(both_ways());
    EXPECT_EQ(report.time, Nanoseconds(50));
    EXPECT_EQ(report.to_host.busy, Nanoseconds(20));
    EXPECT_EQ(report.to_host.bytes, Bytes(200));
    EXPECT_EQ(report.to_device.busy, Nanoseconds(10));
    EXPECT_EQ(report.to_device.bytes, Bytes(100));
}

TEST_F(CheckLinks, copies_both_ways_share_the_link) {
    graph_.device->links.to_host_contended_bytes_per_second = 5e9;
    graph_.device->links.to_device_contended_bytes_per_second = 4e9;
    // `b` is copied out from 20 to 40. By then 20 / 25 of `a` is back on the device. The rest takes 2 ns
    // without the other copy.
    const CheckReport report = played(both_ways());
    EXPECT_EQ(report.time, Nanoseconds(62));
    EXPECT_EQ(report.to_host.busy, Nanoseconds(30));
    EXPECT_EQ(report.to_device.busy, Nanoseconds(22));
    const Result<Simulation> simulated = simulate(graph_, both_ways());
    ASSERT_EQ(simulated->beside.size(), 3u);
    EXPECT_EQ(simulated->beside[1].step, 4u);
    EXPECT_EQ(simulated->beside[1].queue, SideQueue::to_host);
    EXPECT_EQ(simulated->beside[1].end, Nanoseconds(40));
    EXPECT_EQ(simulated->beside[2].start, Nanoseconds(20));
    EXPECT_EQ(simulated->beside[2].end, Nanoseconds(42));
}

TEST_F(CheckLinks, each_copy_has_a_latency_in_which_nothing_moves) {
    graph_.device->links.copy_latency = Nanoseconds(7);
    graph_.device->links.to_host_contended_bytes_per_second = 5e9;
    // The copy of `a` to the host ends at 27 (10 + 17), and the free of `a` waits until then. Both latencies
    // are over at 34. While `a` is copied back, the copy of `b` takes 20 ns instead of 10. So half of `b` is
    // left when `a` is back at 44. This half takes 5 ns, because nothing moves the other way.
    std::vector<Step> steps = both_ways();
    EXPECT_EQ(played(steps).time, Nanoseconds(44 + 20));
    EXPECT_EQ(simulate(graph_, steps)->beside[1].end, Nanoseconds(49));
}

TEST_F(CheckLinks, a_copy_that_takes_longer_than_can_be_counted_is_refused) {
    graph_.device->links.to_host_bytes_per_second = 1e-300;
    Schedule schedule;
    schedule.steps = both_ways();
    EXPECT_EQ(check(graph_, schedule).violations.front(),
              "step 1: copies tensor 1 (a) for longer than can be counted");
    EXPECT_FALSE(simulate(graph_, schedule.steps));
}

TEST_F(CheckLinks, what_is_on_the_host_takes_bytes_until_it_is_dropped) {
    EXPECT_EQ(played(both_ways()).host_peak, Bytes(200));
    EXPECT_EQ(played(both_ways()).host_peak_step, 4u);
    std::vector<Step> steps = both_ways();
    steps.insert(steps.begin() + 4, {Step::fetch(a), Step::drop(a)});
    steps.erase(steps.begin() + 7);  // removes the original fetch
    const CheckReport report = played(steps);
    EXPECT_EQ(report.host_peak, Bytes(100));
    EXPECT_EQ(report.time, Nanoseconds(60)) << "a drop waits for the copy back";
}

TEST_F(CheckLinks, an_update_frees_what_the_host_has_of_a_resident) {
    graph_.ops[OpId(1)].mutates = {TensorId(0)};
    const Result<Simulation> simulated =
        simulate(graph_, {Step::offload(TensorId(0)), Step::run(OpId(0)), Step::run(OpId(1))});
    ASSERT_TRUE(simulated);
    EXPECT_EQ(simulated->steps[1].host, Bytes(10));
    EXPECT_EQ(simulated->steps[2].host, Bytes(0));
}

TEST_F(CheckLinks, what_is_not_on_the_host_cannot_be_dropped_nor_the_only_copy_of_a_resident) {
    const auto refusal = [&](const std::vector<Step>& steps) {
        Schedule schedule;
        schedule.steps = steps;
        EXPECT_FALSE(simulate(graph_, steps));
        return check(graph_, schedule).violations.front();
    };
    EXPECT_EQ(refusal({Step::drop(a)}), "step 0: drops tensor 1 (a), which has no copy on the host");
    const TensorId x(0);
    EXPECT_EQ(refusal({Step::offload(x), Step::free(x), Step::drop(x)}),
              "step 2: drops the only copy of tensor 0 (x), which is resident");
}

TEST_F(CheckLinks, the_budget_on_the_host_and_the_peak_predicted_there_are_kept_to_the_byte) {
    Schedule schedule;
    schedule.steps = both_ways();
    schedule.host_budget = Bytes(200);
    schedule.host_peak = Bytes(200);
    EXPECT_TRUE(check(graph_, schedule).ok());
    EXPECT_EQ(check(graph_, schedule, {.host = Bytes(199)}).violations.front(),
              "step 4: the peak on the host, 200 bytes, is over the budget, 199, by 1 B");
    EXPECT_TRUE(check(graph_, schedule, {.device = Bytes(1000), .host = Bytes(200)}).ok());
    schedule.host_budget = Bytes(199);
    EXPECT_FALSE(check(graph_, schedule).ok());
    schedule.host_budget.reset();
    schedule.host_peak = Bytes(199);
    EXPECT_EQ(check(graph_, schedule).violations.front(),
              "at the end: the peak on the host is 200 bytes, the schedule predicts 199");
}

}  // namespace
}  // namespace rematlas
