// Tests residents whose home is the host, ops that run on the host, and repeated steps. The checker and the
// simulator must agree.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/checking/check.h"
#include "core/schedule/simulate.h"

namespace rematlas {
namespace {

/// One layer with its optimizer. All tensors have 100 bytes, except `x` with 10 bytes. Each op takes 10 ns,
/// the update on the host 30 ns, and a copy of 100 bytes 10 ns. There are no results.
class HostHomes : public testing::Test {
  protected:
    void SetUp() override {
        graph_.name = "layer";
        graph_.tensors = {Tensor{"x", Bytes(10), TensorKind::input},
                          Tensor{"w", Bytes(100), TensorKind::parameter},
                          Tensor{"s", Bytes(100), TensorKind::optimizer_state},
                          Tensor{"a", Bytes(100), TensorKind::activation},
                          Tensor{"grad_a", Bytes(100), TensorKind::gradient},
                          Tensor{"grad_w", Bytes(100), TensorKind::gradient}};
        op("forward", Phase::forward, {x, w}, {a});
        op("loss", Phase::loss, {a}, {grad_a});
        op("backward", Phase::backward, {grad_a, w}, {grad_w});
        op("update", Phase::optimizer, {w, s, grad_w}, {});
        graph_.ops[update].mutates = {w, s};
        graph_.ops[update].host_time = Nanoseconds(30);
        graph_.device =
            Device{.name = "d",
                   .memory = Bytes(0),
                   .links = {.to_host_bytes_per_second = 1e10, .to_device_bytes_per_second = 1e10}};
        ASSERT_TRUE(validate(graph_));
        away_.homes.on_host = {w, s};
    }

    void op(const char* name, Phase phase, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
        Op made;
        made.name = name;
        made.time = Nanoseconds(10);
        made.inputs = std::move(inputs);
        made.outputs = std::move(outputs);
        made.phase = phase;
        graph_.ops.push_back(made);
    }

    CheckReport played(const Schedule& schedule) {
        const CheckReport report = check(graph_, schedule);
        const Result<Simulation> simulated = simulate(graph_, schedule);
        EXPECT_TRUE(report.ok()) << report.violations.front();
        EXPECT_TRUE(simulated) << simulated.error().message;
        if (simulated) {
            EXPECT_EQ(simulated->time, report.time);
            EXPECT_EQ(simulated->peak, report.peak);
            EXPECT_EQ(simulated->host_peak, report.host_peak);
        }
        return report;
    }

    std::string violation(const Schedule& schedule) {
        const CheckReport report = check(graph_, schedule);
        return report.ok() ? "" : report.violations.front();
    }
    std::string refusal(const Schedule& schedule) {
        EXPECT_FALSE(simulate(graph_, schedule));
        return violation(schedule);
    }

    /// Returns a schedule in which `w` and `s` are fetched, updated and copied back.
    Schedule streamed() {
        Schedule schedule = away_;
        schedule.steps = {Step::fetch(w),      Step::run(forward), Step::run(loss),  Step::free(a),
                          Step::run(backward), Step::free(grad_a), Step::fetch(s),   Step::run(update),
                          Step::free(grad_w),  Step::offload(w),   Step::offload(s), Step::free(w),
                          Step::free(s)};
        return schedule;
    }

    /// Returns a schedule in which the gradient is copied to the host and the update runs there.
    Schedule updated_on_host() {
        Schedule schedule = away_;
        schedule.steps = {Step::fetch(w), Step::run(forward),    Step::run(loss),    Step::run(backward),
                          Step::free(w),  Step::offload(grad_w), Step::free(grad_w), Step::run_host(update)};
        return schedule;
    }

    /// Returns a schedule with `w` and `s` on the device when the step starts. `s` leaves the device for a
    /// while.
    Schedule cyclic() {
        Schedule schedule = away_;
        schedule.homes.stays = {w, s};
        schedule.homes.cyclic = true;
        schedule.steps = {Step::run(forward),  Step::run(loss),   Step::free(s),    Step::fetch(s),
                          Step::run(backward), Step::run(update), Step::offload(w), Step::offload(s)};
        return schedule;
    }

    static constexpr TensorId x{0}, w{1}, s{2}, a{3}, grad_a{4}, grad_w{5};
    static constexpr OpId forward{0}, loss{1}, backward{2}, update{3};
    Graph graph_;
    Schedule away_;
};

TEST_F(HostHomes, residents_are_fetched_and_go_back_when_they_have_changed) {
    const CheckReport report = played(streamed());
    // `w` is fetched until 10; forward, loss and backward run until 40; `s` is fetched until 50; the update
    // runs until 60; `w` and `s` are copied back until 80.
    EXPECT_EQ(report.time, Nanoseconds(80));
    EXPECT_EQ(report.peak, Bytes(310)) << "x, w, grad_a and grad_w; or w, s and grad_w";
    EXPECT_EQ(report.host_peak, Bytes(200)) << "the room of w and s is theirs all the time";
    EXPECT_EQ(report.to_host.bytes, Bytes(200));
}

TEST_F(HostHomes, what_has_not_been_fetched_is_not_on_the_device) {
    Schedule schedule = streamed();
    schedule.steps.erase(schedule.steps.begin());
    EXPECT_EQ(refusal(schedule), "step 0: op 0 (forward) reads tensor 1 (w), which is not on the device");
}

TEST_F(HostHomes, what_has_changed_is_not_freed_before_it_was_copied) {
    Schedule schedule = streamed();
    std::erase(schedule.steps, Step::offload(w));
    EXPECT_EQ(refusal(schedule),
              "step 10: frees tensor 1 (w), which is resident and has no copy on the host");
    std::erase(schedule.steps, Step::free(w));
    EXPECT_EQ(violation(schedule),
              "at the end: tensor 1 (w) is on the device, where the next step does not find it");
    schedule.homes.stays = {w};
    std::erase(schedule.steps, Step::fetch(w));
    EXPECT_EQ(violation(schedule), "at the end: tensor 1 (w), whose home is on the host, is not there");
}

TEST_F(HostHomes, what_stays_is_there_at_the_start_and_at_the_end) {
    Schedule schedule = streamed();
    schedule.homes.stays = {w};
    EXPECT_EQ(refusal(schedule), "step 0: fetches tensor 1 (w), which is on the device");
    std::erase(schedule.steps, Step::fetch(w));
    EXPECT_EQ(violation(schedule), "at the end: tensor 1 (w), which is resident, is not on the device");
    std::erase(schedule.steps, Step::free(w));
    const CheckReport report = played(schedule);
    EXPECT_EQ(report.time, Nanoseconds(70));
    EXPECT_EQ(report.peak, Bytes(310));
}

TEST_F(HostHomes, what_lives_on_the_host_is_not_dropped) {
    Schedule schedule = streamed();
    schedule.steps.insert(schedule.steps.begin() + 1, Step::drop(w));
    EXPECT_EQ(refusal(schedule), "step 1: drops tensor 1 (w), whose home is on the host");
}

TEST_F(HostHomes, only_residents_and_results_have_homes) {
    Schedule schedule = streamed();
    schedule.homes.on_host.push_back(a);
    EXPECT_EQ(refusal(schedule), "home_on_host names tensor 3 (a), which is neither resident nor a result");
    schedule.homes.on_host.back() = TensorId(9);
    EXPECT_EQ(refusal(schedule), "home_on_host names tensor 9, which does not exist");
    schedule.homes.on_host.back() = s;
    EXPECT_EQ(refusal(schedule), "home_on_host names tensor 2 (s) twice");
    schedule = streamed();
    schedule.homes.stays = {x};
    EXPECT_EQ(refusal(schedule), "stays names tensor 0, which is no resident with its home on the host");
}

TEST_F(HostHomes, a_result_may_end_on_the_host) {
    graph_.results = {grad_w};
    Schedule schedule = streamed();
    EXPECT_EQ(violation(schedule), "at the end: result tensor 5 (grad_w) is not on the device");
    schedule.homes.on_host.push_back(grad_w);
    EXPECT_EQ(violation(schedule), "at the end: result tensor 5 (grad_w) is not on the host");
    schedule.steps.insert(schedule.steps.begin() + 8, Step::offload(grad_w));
    const CheckReport report = played(schedule);
    EXPECT_EQ(report.host_peak, Bytes(300));
    EXPECT_EQ(report.host_peak_step, 8u) << "it takes bytes from its offload on";
}

TEST_F(HostHomes, an_op_runs_on_the_host_once_its_inputs_are_there) {
    const CheckReport report = played(updated_on_host());
    // `w` is fetched until 10; the ops run until 40; the gradient is copied out until 50; the update runs
    // until 80.
    EXPECT_EQ(report.time, Nanoseconds(80));
    EXPECT_EQ(report.on_host.busy, Nanoseconds(30));
    EXPECT_EQ(report.host_runs, 1u);
    EXPECT_EQ(report.runs, 3u);
    EXPECT_EQ(report.host_peak, Bytes(300));
}

TEST_F(HostHomes, compute_goes_on_beside_an_op_on_the_host_and_a_fetch_waits_for_it) {
    const TensorId norm = graph_.tensors.push_back(Tensor{"norm", Bytes(1), TensorKind::activation});
    op("norm", Phase::optimizer, {w}, {norm});
    Schedule schedule = updated_on_host();
    schedule.steps.push_back(Step::run(OpId(4)));
    EXPECT_EQ(refusal(schedule), "step 8: op 4 (norm) reads tensor 1 (w), which is not on the device");
    schedule.steps.insert(schedule.steps.end() - 1, {Step::run(loss), Step::fetch(w)});
    schedule.steps.push_back(Step::free(w));
    // The loss runs again during the update; `w` is fetched from 80 to 90; the norm runs until 100.
    EXPECT_EQ(played(schedule).time, Nanoseconds(100));
}

TEST_F(HostHomes, a_drop_waits_for_the_op_that_reads_what_it_frees) {
    Schedule schedule = updated_on_host();
    schedule.steps.push_back(Step::drop(grad_w));
    const Result<Simulation> simulated = simulate(graph_, schedule);
    ASSERT_TRUE(simulated);
    EXPECT_EQ(simulated->steps.back().end, Nanoseconds(80));
    EXPECT_EQ(simulated->steps.back().host, Bytes(200));
}

TEST_F(HostHomes, an_update_on_the_device_waits_for_the_op_on_the_host_that_reads_what_was_there) {
    const TensorId norm = graph_.tensors.push_back(Tensor{"norm", Bytes(1), TensorKind::activation});
    Op reads = graph_.ops[update];
    reads.name = "norm";
    reads.inputs = {w};
    reads.outputs = {norm};
    reads.mutates = {};
    reads.host_time = Nanoseconds(70);
    graph_.ops.push_back(graph_.ops[update]);
    graph_.ops[update] = reads;
    Schedule schedule = streamed();
    std::replace(schedule.steps.begin(), schedule.steps.end(), Step::run(update), Step::run(OpId(4)));
    schedule.steps.insert(schedule.steps.begin(), Step::run_host(update));
    // `w` is fetched while the op on the host runs. The update waits from 50 until 70, and `w` and `s` are
    // copied back until 100.
    EXPECT_EQ(played(schedule).time, Nanoseconds(100));
}

TEST_F(HostHomes, what_an_op_on_the_host_reads_is_there_and_what_it_changes_nowhere_else) {
    Schedule schedule = updated_on_host();
    std::erase(schedule.steps, Step::offload(grad_w));
    EXPECT_EQ(refusal(schedule),
              "step 6: op 3 (update) runs on the host and reads tensor 5 (grad_w), which is not there");
    schedule = updated_on_host();
    std::erase(schedule.steps, Step::free(w));
    EXPECT_EQ(refusal(schedule),
              "step 6: op 3 (update) updates tensor 1 (w) on the host, while it is on the device too");
}

TEST_F(HostHomes, an_op_runs_in_one_place_and_there_once) {
    Schedule schedule = updated_on_host();
    schedule.steps.push_back(Step::run_host(update));
    EXPECT_EQ(refusal(schedule), "step 8: op 3 (update) runs on the host, but has run before");
    schedule = updated_on_host();
    schedule.steps.insert(schedule.steps.end(),
                          {Step::fetch(w), Step::fetch(s), Step::fetch(grad_w), Step::run(update)});
    EXPECT_EQ(refusal(schedule), "step 11: op 3 (update) runs, but has run on the host");
    graph_.ops[update].host_time.reset();
    EXPECT_EQ(refusal(updated_on_host()), "step 7: op 3 (update) cannot run on the host");
}

TEST_F(HostHomes, the_next_step_starts_while_copies_are_under_way) {
    Schedule schedule = cyclic();
    // `s` is copied out during the first two ops of the next step, and fetched during the backward op of
    // that step.
    EXPECT_EQ(played(schedule).time, Nanoseconds(40));
    EXPECT_EQ(played(schedule).to_host.busy, Nanoseconds(20));
    EXPECT_EQ(played(schedule).to_host.bytes, Bytes(200));
    const Result<Simulation> simulated = simulate(graph_, schedule);
    ASSERT_EQ(simulated->beside.size(), 3u);
    EXPECT_EQ(simulated->beside[2].start, Nanoseconds(50)) << "in the next step";
    EXPECT_EQ(simulated->beside[2].end, Nanoseconds(60));
    schedule.homes.cyclic = false;
    EXPECT_EQ(played(schedule).time, Nanoseconds(60));
}

TEST_F(HostHomes, a_step_waits_for_copies_of_the_step_before) {
    Schedule schedule = cyclic();
    schedule.steps.erase(schedule.steps.begin() + 2, schedule.steps.begin() + 4);
    schedule.steps.insert(schedule.steps.begin(), {Step::free(s), Step::fetch(s)});
    // The free waits 20 ns until `w` and `s` are copied out.
    EXPECT_EQ(played(schedule).time, Nanoseconds(60));
}

TEST_F(HostHomes, a_cyclic_step_waits_for_copies_of_what_ops_made) {
    Schedule schedule = cyclic();
    schedule.steps.push_back(Step::offload(grad_w));
    EXPECT_EQ(played(schedule).time, Nanoseconds(70)) << "behind w and s on the same link";
    EXPECT_EQ(played(schedule).host_peak, Bytes(300)) << "what a step left there is gone in the next";
}

TEST_F(HostHomes, where_the_end_is_not_the_start_steps_cannot_follow_each_other) {
    Schedule schedule = cyclic();
    schedule.steps.pop_back();
    EXPECT_EQ(refusal(schedule), "at the end: tensor 2 (s), whose home is on the host, is not there");
}

/// The link is a thousandth too slow for the step. So copies end 1 ns later in each step than in the step
/// before, and no two of 64 steps are alike.
TEST_F(HostHomes, where_no_two_steps_are_alike_the_time_is_the_mean_of_64) {
    Graph graph;
    graph.name = "slow";
    graph.tensors = {Tensor{"w1", Bytes(5000), TensorKind::parameter},
                     Tensor{"w2", Bytes(5010), TensorKind::parameter}};
    const TensorId w1(0), w2(1);
    for (int i = 0; i < 4; ++i) {
        Op op;
        op.name = "op" + std::to_string(i);
        op.phase = Phase::backward;
        op.time = Nanoseconds(std::array{0, 600, 0, 400}[static_cast<std::size_t>(i)]);
        if (i == 0) op.mutates = {w1};
        if (i == 2) op.mutates = {w2};
        graph.ops.push_back(op);
    }
    graph.device = graph_.device;
    Schedule schedule;
    schedule.homes = {.on_host = {w1, w2}, .stays = {w1, w2}, .cyclic = true};
    schedule.steps = {Step::run(OpId(0)), Step::offload(w1), Step::run(OpId(1)),
                      Step::run(OpId(2)), Step::offload(w2), Step::run(OpId(3))};
    // The checker plays 64 steps. The last one ends at 64000 ns, and its last copy ends at 64164 ns. The
    // mean is 64164 ns / 64, rounded up.
    const CheckReport report = check(graph, schedule);
    ASSERT_TRUE(report.ok()) << report.violations.front();
    EXPECT_EQ(report.time, Nanoseconds(1003));
    EXPECT_EQ(simulate(graph, schedule)->time, Nanoseconds(1003));
}

}  // namespace
}  // namespace rematlas
