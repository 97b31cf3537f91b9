// Runs schedules with copies on a machine that computes bytes (byte_machine.h). However late or early the
// links copy, the results must equal those of the ops without a schedule. Every wait must be necessary.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/checking/check.h"
#include "core/schedule/simulate.h"
#include "runtime/transfers/worker_copies.h"
#include "tests/core/support/random_copies.h"
#include "tests/runtime/transfers/byte_machine.h"

namespace rematlas {
namespace {

using test::AdversarialCopies;
using test::ByteMachine;
using test::Haste;

constexpr Haste kAllHastes[] = {Haste::at_once, Haste::when_waited_for, Haste::at_random};

struct Case {
    Graph graph;
    Schedule schedule;
    TransferPlan plan;
    std::string name;
};

/// Makes a random graph in which every tensor has bytes.
Graph graph_of(std::uint64_t seed) {
    Graph graph = random_graph_with_links(seed);
    for (Tensor& tensor : graph.tensors) tensor.bytes = std::max(tensor.bytes, Bytes(1));
    return graph;
}

/// Calls `look` for schedules that would be valid if copies took no time. With the real times of the links,
/// the checker would refuse some of them, but a runtime only waits longer for the copies.
template <class Look>
int for_each_case(int seeds, Look&& look) {
    int cases = 0;
    for (int seed = 0; seed < seeds; ++seed) {
        const Graph graph = graph_of(static_cast<std::uint64_t>(seed));
        Graph at_once = graph;
        at_once.device->links.to_host_bytes_per_second = at_once.device->links.to_device_bytes_per_second =
            1e30;
        at_once.device->links.to_host_contended_bytes_per_second = 0;
        at_once.device->links.to_device_contended_bytes_per_second = 0;
        at_once.device->links.copy_latency = Nanoseconds();
        for (Op& op : at_once.ops)
            if (op.host_time) op.host_time = Nanoseconds();
        for (int i = 0; i < 4; ++i) {
            Schedule schedule = random_schedule_with_copies(graph, static_cast<std::uint64_t>(10 * seed + i));
            if (!check(at_once, schedule).ok()) continue;
            const std::string name = "graph " + std::to_string(seed) + ", schedule " + std::to_string(i);
            Result<TransferPlan> plan = TransferPlan::make(graph, schedule.steps, schedule.homes);
            EXPECT_TRUE(plan) << name << ": " << plan.error().message;
            if (!plan || !plan->moves_anything()) continue;
            look(Case{graph, std::move(schedule), plan.take(), name});
            ++cases;
            if (::testing::Test::HasFailure()) return cases;
        }
    }
    return cases;
}

TEST(Transfers, LeaveWhatTheOpsMakeHoweverTheLinksGo) {
    const int cases = for_each_case(600, [](const Case& one) {
        for (const Haste haste : kAllHastes) {
            AdversarialCopies copies(haste, 7);
            ByteMachine machine(one.graph, one.schedule, one.plan, copies, &copies);
            for (int repetition = 0; repetition < 3; ++repetition) machine.run();
            ASSERT_EQ(machine.difference(3), "") << one.name;
            ASSERT_EQ(copies.races(), 0) << one.name << ": " << copies.first_race();
            ASSERT_EQ(copies.held(), 0) << one.name << ": marks are released";
        }
    });
    EXPECT_GT(cases, 500);
}

TEST(Transfers, WaitForNothingInVain) {
    int left_out = 0;
    for_each_case(120, [&](const Case& one) {
        for (int wait = 0;; ++wait) {
            AdversarialCopies copies(Haste::at_once);
            copies.drop_wait = wait;
            ByteMachine machine(one.graph, one.schedule, one.plan, copies, &copies);
            for (int repetition = 0; repetition < 3; ++repetition) machine.run();
            if (wait >= copies.waits()) break;
            machine.run();  // if a wait at the end of the third step is missing, a fourth step shows it
            ASSERT_GT(copies.races(), 0) << one.name << ": wait " << wait << " is not needed";
            ++left_out;
        }
    });
    EXPECT_GT(left_out, 1500);
}

/// Drops each wait, one at a time, on links that copy as late as possible. More than a quarter of the missing
/// waits show in wrong values.
TEST(Transfers, MoreThanAQuarterOfTheMissingWaitsShowInValues) {
    int left_out = 0, seen = 0;
    for_each_case(120, [&](const Case& one) {
        for (int wait = 0;; ++wait) {
            AdversarialCopies copies(Haste::when_waited_for);
            copies.drop_wait = wait;
            ByteMachine machine(one.graph, one.schedule, one.plan, copies, nullptr);
            machine.run();
            seen += !machine.difference(1).empty();
            if (wait >= copies.waits()) break;
            ++left_out;
        }
    });
    EXPECT_GT(seen, left_out / 4);
}

TEST(Transfers, TakeTheTimeAndTheBytesThatAreSimulated) {
    int cyclic = 0;
    const int cases = for_each_case(800, [&](const Case& one) {
        const Result<Simulation> simulated = simulate(one.graph, one.schedule);
        if (!simulated) return;  // with the links' real times the schedule is not valid
        AdversarialCopies copies(Haste::at_once);
        ByteMachine machine(one.graph, one.schedule, one.plan, copies, nullptr);
        LinkClock clock(one.graph, one.plan, one.graph.device->links);
        Nanoseconds before;
        constexpr int repetitions = 64;
        for (int i = 0; i < (one.schedule.homes.cyclic ? repetitions : 1); ++i) {
            before = clock.now();
            machine.run(&clock);
        }
        ASSERT_EQ(machine.player().host_peak(), simulated->host_peak) << one.name;
        ASSERT_EQ(one.plan.host_peak, simulated->host_peak) << one.name;
        ASSERT_LT(one.plan.slab_bytes + one.plan.home_bytes,
                  simulated->host_peak.value + 64 * std::ssize(one.plan.places) + 64);
        cyclic += one.schedule.homes.cyclic;
        if (!one.schedule.homes.cyclic) {
            std::vector<Nanoseconds> times;
            for (const Step& step : one.schedule.steps)
                times.push_back(step.runs() ? one.graph.ops[step.op()].time : Nanoseconds());
            ASSERT_EQ(clock.now(), simulated->time) << one.name;
            ASSERT_EQ(time_on_links(one.graph, one.plan, one.graph.device->links, times), simulated->time)
                << one.name;
        } else {
            ASSERT_NEAR(double((clock.now() - before).value), double(simulated->time.value),
                        0.01 * double(simulated->time.value) + 1)
                << one.name;
        }
    });
    EXPECT_GT(cases, 600);
    EXPECT_GT(cyclic, 60);
}

/// On the host, a place that one tensor has left is given to others. The tensors are large, so that alignment
/// hardly counts.
TEST(Transfers, TakeHardlyMoreBytesOnTheHostThanTheTensorsThere) {
    std::int64_t taken = 0, tensors = 0, all_places = 0;
    for_each_case(300, [&](const Case& one) {
        Graph large = one.graph;
        for (Tensor& tensor : large.tensors) tensor.bytes = Bytes(tensor.bytes.value << 12);
        const TransferPlan plan = TransferPlan::make(large, one.schedule.steps, one.schedule.homes).take();
        EXPECT_GE(plan.slab_bytes + plan.home_bytes, plan.host_peak.value) << one.name;
        taken += plan.slab_bytes + plan.home_bytes;
        tensors += plan.host_peak.value;
        for (const HostPlace& place : plan.places) {
            all_places += place.bytes;
            EXPECT_EQ(place.offset % 64, 0) << one.name << ": as aligned as torch's own memory of the host";
        }
    });
    EXPECT_LT(static_cast<double>(taken), 1.002 * static_cast<double>(tensors));
    EXPECT_GT(static_cast<double>(all_places), 1.04 * static_cast<double>(tensors)) << "places are shared";
}

TEST(Transfers, OverThreadsLeaveTheSame) {
    const int cases = for_each_case(60, [](const Case& one) {
        const std::unique_ptr<CopyQueues> copies = worker_copies();
        ByteMachine machine(one.graph, one.schedule, one.plan, *copies, nullptr);
        for (int repetition = 0; repetition < 4; ++repetition) machine.run();
        ASSERT_EQ(machine.difference(4), "") << one.name;
    });
    EXPECT_GT(cases, 40);
}

/// Within a step there are pauses, in which the caller writes to tensors.
TEST(Transfers, ArePausedForTheCaller) {
    int waits = 0;
    for_each_case(300, [&](const Case& one) {
        if (one.schedule.homes.cyclic) return;
        std::vector<TransferPause> pauses;
        for (std::size_t before = 1; before < one.schedule.steps.size(); before += 4) {
            pauses.push_back({.before = before});
            for (TensorId t : one.graph.tensors.ids())
                if ((t.value + static_cast<int>(before)) % 3 == 0) pauses.back().of.push_back(t);
        }
        const TransferPlan plan =
            TransferPlan::make(one.graph, one.schedule.steps, one.schedule.homes, pauses).take();
        waits += static_cast<int>(plan.pauses.orders.size());
        for (const Haste haste : kAllHastes) {
            AdversarialCopies copies(haste, 3);
            ByteMachine machine(one.graph, one.schedule, plan, copies, &copies);
            machine.pauses = pauses;
            machine.run();
            ASSERT_EQ(machine.difference(1), "") << one.name;
            ASSERT_EQ(copies.races(), 0) << one.name << ": " << copies.first_race();
        }
    });
    EXPECT_GT(waits, 100);
}

TEST(Transfers, OpsOfTheHostFindTheirOperandsThere) {
    int runs = 0, made = 0;
    for_each_case(300, [&](const Case& one) {
        for (const HostRun& run : one.plan.host_runs) {
            ++runs;
            const Op& op = one.graph.ops[one.schedule.steps[static_cast<std::size_t>(run.step)].op()];
            made += !op.outputs.empty();
            const auto find = [&](TensorId t) {
                return std::count_if(run.operands.begin(), run.operands.end(), [&](const auto& operand) {
                    const HostPlace& place = one.plan.places[static_cast<std::size_t>(operand.place)];
                    return operand.tensor == t && place.tensor == t;
                });
            };
            for (const auto* list : {&op.inputs, &op.mutates, &op.outputs})
                for (TensorId t : *list) EXPECT_EQ(find(t), 1) << one.name;
        }
    });
    EXPECT_GT(runs, 100);
    EXPECT_GT(made, 10);
}

TEST(Transfers, AnOpOfTheHostWhoseOperandIsNotThereIsRefused) {
    int refused = 0;
    for_each_case(100, [&](const Case& one) {
        for (const HostRun& run : one.plan.host_runs) {
            const std::vector<Step> only{one.schedule.steps[static_cast<std::size_t>(run.step)]};
            const Op& op = one.graph.ops[only.front().op()];
            if (op.inputs.empty()) continue;
            const Result<TransferPlan> plan = TransferPlan::make(one.graph, only);
            ASSERT_FALSE(plan);
            EXPECT_NE(plan.error().message.find("runs on the host and reads"), std::string::npos);
            ++refused;
        }
    });
    EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace rematlas
