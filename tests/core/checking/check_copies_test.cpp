// Tests copies to the host and back. The checker and the simulator share no code, and must agree.
#include <gtest/gtest.h>

#include "core/checking/check.h"
#include "core/schedule/simulate.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

/// The small graph on a device whose links copy 100 bytes in 10 ns.
class Copies : public testing::Test {
  protected:
    void SetUp() override {
        graph_ = small_graph();
        graph_.device =
            Device{.name = "d",
                   .memory = Bytes(0),
                   .links = {.to_host_bytes_per_second = 1e10, .to_device_bytes_per_second = 1e10}};
    }

    /// Returns the time of valid steps, which the simulator must confirm. Fails and returns -1 if they are
    /// not valid.
    std::int64_t time_of(const std::vector<Step>& steps) {
        Schedule schedule;
        schedule.steps = steps;
        const CheckReport report = check(graph_, schedule);
        const Result<Simulation> simulated = simulate(graph_, steps);
        if (!report.ok() || !simulated) {
            ADD_FAILURE() << (report.ok() ? simulated.error().message : report.violations.front());
            return -1;
        }
        EXPECT_EQ(simulated->time, report.time);
        EXPECT_EQ(simulated->peak, report.peak);
        return report.time.value;
    }

    /// Returns the checker's violation for steps that the simulator must refuse, too.
    std::string refusal(const std::vector<Step>& steps) {
        Schedule schedule;
        schedule.steps = steps;
        EXPECT_FALSE(simulate(graph_, steps));
        return violation(steps);
    }

    /// Returns the checker's first violation; empty if there is none.
    std::string violation(const std::vector<Step>& steps) {
        Schedule schedule;
        schedule.steps = steps;
        const CheckReport report = check(graph_, schedule);
        return report.ok() ? "" : report.violations.front();
    }

    /// Appends the backward runs. `a`, `b` and the gradient of `b` must exist.
    static std::vector<Step> with_backward(std::vector<Step> steps) {
        steps.insert(steps.end(), {Step::run(OpId(3)), Step::run(OpId(4))});
        return steps;
    }

    /// Makes op `b` (op 1) update `x`. A copy of `x` takes 1 ns, because `x` has 10 bytes.
    void let_b_update_x() { graph_.ops[OpId(1)].mutates = {x}; }

    static constexpr TensorId x{0}, a{1}, b{2}, grad_b{3}, grad_a{4};
    Graph graph_;
};

TEST_F(Copies, run_beside_compute_and_are_waited_for) {
    EXPECT_EQ(time_of({Step::run(OpId(0)), Step::run(OpId(1)), Step::offload(a), Step::run(OpId(2)),
                       Step::free(a), Step::fetch(a), Step::run(OpId(3)), Step::free(b), Step::free(grad_b),
                       Step::run(OpId(4)), Step::free(a), Step::free(grad_a)}),
              60);  // 10 ns of waiting for the fetch
}

TEST_F(Copies, a_free_waits_for_the_copy_to_the_host) {
    const Result<Simulation> simulated =
        simulate(graph_, {Step::run(OpId(0)), Step::offload(a), Step::free(a), Step::fetch(a)});
    ASSERT_TRUE(simulated);
    EXPECT_EQ(simulated->steps[2].end, Nanoseconds(20));
}

TEST_F(Copies, what_has_no_copy_cannot_be_fetched) {
    EXPECT_NE(refusal({Step::run(OpId(0)), Step::free(a), Step::fetch(a)}).find("no copy on the host"),
              std::string::npos);
}

TEST_F(Copies, what_is_on_the_device_cannot_be_fetched) {
    EXPECT_NE(refusal({Step::run(OpId(0)), Step::offload(a), Step::fetch(a)}).find("on the device"),
              std::string::npos);
}

TEST_F(Copies, a_run_in_place_does_not_overwrite_what_is_on_its_way_to_the_host) {
    graph_.ops[OpId(2)].inplace = {{.out = grad_b, .in = b}};
    EXPECT_NE(refusal({Step::run(OpId(0)), Step::run(OpId(1)), Step::offload(b), Step::run_inplace(OpId(2))})
                  .find("writes over tensor 2 (b), which is on its way to the host for 10 ns more"),
              std::string::npos);
    // With a run of 10 ns in between, the copy is done when the loss starts. `b` is fetched from 40 to 50.
    EXPECT_EQ(time_of(with_backward({Step::run(OpId(0)), Step::run(OpId(1)), Step::offload(b),
                                     Step::run(OpId(0)), Step::run_inplace(OpId(2)), Step::fetch(b)})),
              70);
}

TEST_F(Copies, a_run_does_not_replace_what_is_on_its_way) {
    EXPECT_NE(refusal({Step::run(OpId(0)), Step::offload(a), Step::run(OpId(0))})
                  .find("makes again tensor 1 (a), which is on its way to the host for 10 ns more"),
              std::string::npos);
    EXPECT_NE(
        refusal({Step::run(OpId(0)), Step::offload(a), Step::free(a), Step::fetch(a), Step::run(OpId(0))})
            .find("makes again tensor 1 (a), which arrives for 10 ns more"),
        std::string::npos);
    // The copy of `a` is done before `a` is made again, because op `b` runs for 10 ns in between.
    EXPECT_EQ(time_of(with_backward({Step::run(OpId(0)), Step::offload(a), Step::run(OpId(1)),
                                     Step::run(OpId(0)), Step::run(OpId(2))})),
              60);
}

TEST_F(Copies, what_arrives_is_not_freed) {
    EXPECT_NE(refusal({Step::run(OpId(0)), Step::offload(a), Step::free(a), Step::fetch(a), Step::free(a)})
                  .find("step 4: frees tensor 1 (a), which arrives for 10 ns more"),
              std::string::npos);
}

TEST_F(Copies, what_an_op_has_updated_since_its_copy_cannot_be_fetched) {
    let_b_update_x();
    const std::string stale =
        refusal({Step::offload(x), Step::run(OpId(0)), Step::run(OpId(1)), Step::free(x), Step::fetch(x)});
    EXPECT_NE(stale.find("frees tensor 0 (x), which is resident and has no copy"), std::string::npos)
        << stale;
    EXPECT_EQ(time_of(with_backward({Step::run(OpId(0)), Step::run(OpId(1)), Step::offload(x), Step::free(x),
                                     Step::run(OpId(2)), Step::fetch(x)})),
              51);
}

TEST_F(Copies, only_the_first_run_of_an_op_updates) {
    let_b_update_x();
    EXPECT_EQ(time_of(with_backward({Step::run(OpId(0)), Step::run(OpId(1)), Step::offload(x), Step::free(x),
                                     Step::run(OpId(1)), Step::fetch(x), Step::run(OpId(2))})),
              61);
}

TEST_F(Copies, what_is_updated_is_on_the_device) {
    let_b_update_x();
    EXPECT_NE(refusal({Step::run(OpId(0)), Step::offload(x), Step::free(x), Step::run(OpId(1))})
                  .find("updates tensor 0 (x), which is not on the device"),
              std::string::npos);
}

TEST_F(Copies, what_is_on_its_way_to_the_host_is_not_updated) {
    graph_.tensors[x].bytes = Bytes(100);
    let_b_update_x();
    EXPECT_NE(refusal({Step::run(OpId(0)), Step::offload(x), Step::run(OpId(1))})
                  .find("updates tensor 0 (x), which is on its way to the host for 10 ns more"),
              std::string::npos);
    // `x` is copied from 0 to 10, while `a` is made.
    EXPECT_EQ(time_of(with_backward(
                  {Step::offload(x), Step::run(OpId(0)), Step::run(OpId(1)), Step::run(OpId(2))})),
              50);
}

TEST_F(Copies, what_reads_a_resident_finds_it_as_in_the_order_of_the_graph) {
    let_b_update_x();  // op `a` reads `x`
    EXPECT_EQ(refusal({Step::run(OpId(0)), Step::run(OpId(1)), Step::run(OpId(0))}),
              "step 2: op 0 (a) uses tensor 0 (x) after op 1 (b) has updated it");
    graph_.ops[OpId(1)].mutates = {};
    graph_.ops[OpId(0)].mutates = {x};
    graph_.ops.push_back(graph_.ops[OpId(0)]);
    graph_.ops[OpId(5)].outputs = {};
    graph_.ops[OpId(5)].mutates = {};
    EXPECT_EQ(refusal({Step::run(OpId(5))}),
              "step 0: op 5 (a) uses tensor 0 (x) before op 0 (a) has updated it");
    EXPECT_EQ(time_of(with_backward({Step::run(OpId(0)), Step::run(OpId(5)), Step::run(OpId(0)),
                                     Step::run(OpId(1)), Step::run(OpId(2))})),
              70)
        << "the updating op itself may run again";
    graph_.ops[OpId(5)].mutates = {x};
    EXPECT_EQ(refusal({Step::run(OpId(5))}),
              "step 0: op 5 (a) uses tensor 0 (x) before op 0 (a) has updated it");
}

TEST_F(Copies, residents_are_on_the_device_when_the_step_ends) {
    const std::vector<Step> gone = with_backward(
        {Step::run(OpId(0)), Step::offload(x), Step::free(x), Step::run(OpId(1)), Step::run(OpId(2))});
    EXPECT_EQ(violation(gone), "at the end: tensor 0 (x), which is resident, is not on the device");
    std::vector<Step> back = gone;
    back.push_back(Step::fetch(x));
    EXPECT_EQ(time_of(back), 52);  // two copies of 1 ns: the free waits for the first, and the step ends
                                   // when the second has ended
}

TEST_F(Copies, the_step_is_over_when_its_copies_are) {
    const std::vector<Step> steps =
        with_backward({Step::run(OpId(0)), Step::run(OpId(1)), Step::run(OpId(2))});
    std::vector<Step> out = steps;
    out.push_back(Step::offload(a));
    EXPECT_EQ(time_of(out), 60);
    out.insert(out.end(), {Step::free(a), Step::fetch(a)});
    EXPECT_EQ(time_of(out), 70);
}

TEST_F(Copies, nothing_goes_to_the_host_twice) {
    EXPECT_NE(refusal({Step::run(OpId(0)), Step::offload(a), Step::offload(a)}).find("on the host already"),
              std::string::npos);
    EXPECT_NE(refusal({Step::run(OpId(0)), Step::offload(a), Step::free(a), Step::fetch(a), Step::offload(a)})
                  .find("on the host already"),
              std::string::npos);
}

}  // namespace
}  // namespace rematlas
