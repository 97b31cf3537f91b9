#include "core/planning/known_answers.h"

#include <gtest/gtest.h>

#include "core/planning/request.h"
#include "core/planning/sweep.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

Links both_ways(double bytes_per_second) {
    return {.to_host_bytes_per_second = bytes_per_second, .to_device_bytes_per_second = bytes_per_second};
}

Copies copies(Offload what) {
    return {.what = what, .links = both_ways(1e9)};
}

constexpr Bytes budget(1000);
const Pin pin{"a", PinKind::keep};

TEST(KnownAnswers, ABoundHoldsForFewerSchedules) {
    const Graph graph = small_graph();
    KnownAnswers known(graph);
    EXPECT_FALSE(known.bound({budget}));
    known.add_bound({budget, copies(Offload::activations)}, ScheduleClass::with_activation_copies, 1.25);
    EXPECT_EQ(known.bound({budget, copies(Offload::activations)}), 1.25);
    EXPECT_EQ(known.bound({budget}), 1.25) << "schedules without copies are some of those";
    EXPECT_EQ(known.bound({budget - Bytes(1)}), 1.25);
    EXPECT_EQ(known.bound({budget, {}, {pin}}), 1.25);
    EXPECT_FALSE(known.bound({budget + Bytes(1)}));
    EXPECT_FALSE(known.bound({budget, copies(Offload::all)}));
    EXPECT_FALSE(known.bound({budget, {.what = Offload::activations, .links = both_ways(2e9)}}));
}

TEST(KnownAnswers, AScheduleTellsTheLargestBoundThatIsKnownOfItsQuestion) {
    const Graph graph = small_graph();
    KnownAnswers known(graph);
    const Schedule schedule{.graph = graph.name, .budget = budget, .overhead = 1.5, .steps = {}};
    EXPECT_FALSE(with_known_bound(graph, known, schedule).bound);
    known.add_bound({budget}, ScheduleClass::any_order, 1.25);
    const Schedule told = with_known_bound(graph, known, schedule);
    ASSERT_TRUE(told.bound);
    EXPECT_EQ(told.bound->overhead, 1.25);
    EXPECT_DOUBLE_EQ(told.bound->gap, 0.2);
    EXPECT_EQ(told.bound->over, ScheduleClass::any_order);
    known.add_bound({budget - Bytes(1)}, ScheduleClass::any_order, 1.4);
    EXPECT_EQ(with_known_bound(graph, known, told).bound->overhead, 1.25) << "that is another question";
}

TEST(KnownAnswers, ABoundUnderPinsOrOfStagesHoldsForThemAlone) {
    const Graph graph = small_graph();
    KnownAnswers known(graph);
    known.add_bound({budget, {}, {pin}}, ScheduleClass::any_order, 1.5);
    known.add_bound({budget}, ScheduleClass::staged, 2);
    EXPECT_FALSE(known.bound({budget}));
    EXPECT_EQ(known.bound({budget, {}, {pin}}), 1.5);
    EXPECT_EQ(known.bound({budget, {}, {pin, {"b", PinKind::keep}}}), 1.5) << "more pins allow less";
    EXPECT_FALSE(known.bound({budget, {}, {{"b", PinKind::keep}}}));
}

TEST(KnownAnswers, ABoundWithinAHostBudgetHoldsForSmallerOnes) {
    const Graph graph = small_graph();
    KnownAnswers known(graph);
    Question question{budget, copies(Offload::activations)};
    question.copies.host_budget = Bytes(500);
    known.add_bound(question, ScheduleClass::with_activation_copies, 1.25);
    question.copies.host_budget = Bytes(400);
    EXPECT_EQ(known.bound(question), 1.25);
    question.copies.host_budget = Bytes(600);
    EXPECT_FALSE(known.bound(question));
    question.copies.host_budget.reset();
    EXPECT_FALSE(known.bound(question)) << "any host memory is more than some";
}

TEST(KnownAnswers, TheSmallestPeakIsOfSchedulesThatMayAnswer) {
    const Graph graph = small_graph();
    KnownAnswers known(graph);
    EXPECT_FALSE(known.smallest({}));
    known.add_peak({.copies = copies(Offload::activations)}, Bytes(100));
    known.add_peak({.pins = {pin}}, Bytes(300));
    known.add_peak({}, Bytes(200));
    EXPECT_EQ(known.smallest({}), Bytes(200));
    EXPECT_EQ(known.smallest({.copies = copies(Offload::all)}), Bytes(100));
    EXPECT_EQ(known.smallest({.pins = {pin}}), Bytes(300));
    EXPECT_FALSE(known.smallest({.pins = {{"b", PinKind::keep}}}));
}

TEST(KnownAnswers, WhatAllNeedIsNeededByFewer) {
    const Graph graph = small_graph();
    KnownAnswers known(graph);
    EXPECT_EQ(known.needed({}), Bytes(0));
    known.add_needed({.pins = {pin}}, ScheduleClass::any_order, Bytes(300));
    known.add_needed({.copies = copies(Offload::activations)}, ScheduleClass::with_activation_copies,
                     Bytes(100));
    EXPECT_EQ(known.needed({}), Bytes(100));
    EXPECT_EQ(known.needed({.pins = {pin}}), Bytes(300));
    EXPECT_EQ(known.needed({.copies = copies(Offload::all)}), Bytes(0));
}

TEST(KnownAnswers, OnRandomGraphsNothingThatIsFoundIsBelowWhatIsKnown) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        Graph graph = random_training_graph(seed, {.forward_ops = 6});
        graph.device = Device{.name = "card", .links = both_ways(1e10)};
        KnownAnswers known(graph);
        const Result<Sweep> sweep = run_sweep(graph, {.solvers = {"atlas", "rotor"},
                                                      .count = 6,
                                                      .limits = {.time = std::chrono::milliseconds(600)},
                                                      .copies = {Copies{}, {.what = Offload::activations}}});
        ASSERT_TRUE(sweep) << sweep.error().message;
        add_sweep(*sweep, known);
        double last = 1e300;
        for (const SweepCurve& curve : sweep->curves) {
            for (const SweepPoint& point : curve.points) {
                const auto bound = known.bound({point.budget, curve.copies});
                if (!bound || point.status == "infeasible") continue;
                EXPECT_LE(*bound, point.overhead * (1 + 1e-9))
                    << curve.solver << " at " << point.budget.value;
                ASSERT_TRUE(point.bound);
                EXPECT_GE(point.bound->overhead, *bound) << "the sweep says no less than is known";
            }
        }
        const Bytes full = step_bytes(flatten(graph)).peak;
        for (std::int64_t bytes = full.value / 2; bytes <= full.value; bytes += full.value / 20 + 1) {
            const double bound = known.bound({Bytes(bytes)}).value_or(1);
            EXPECT_LE(bound, last) << "a larger budget allows no less";
            last = bound;
        }
    }
}

}  // namespace
}  // namespace rematlas
