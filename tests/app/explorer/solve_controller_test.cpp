#include "app/explorer/jobs/solve_controller.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QThread>

#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

/// A solver that finds no proof: reports one schedule, and then works until it is stopped.
Result<Outcome> endless(const LoadedGraph& graph, const SolveRequest& request, const Progress& progress) {
    progress({.overhead = 1.25, .peak = Bytes(1000), .bound = 1.1, .fraction_done = 0.5});
    while (!request.limits.stop.stop_requested()) QThread::msleep(1);
    Outcome outcome;
    outcome.answer.emplace<Schedule>(keep_all_schedule(graph));
    return outcome;
}

TEST(SolveController, DeliversACheckedScheduleWithinTheBudget) {
    const GraphPtr graph = loaded_chain(8);
    SolveController solver;
    SchedulePtr found;
    QObject::connect(&solver, &SolveController::solved, [&](SchedulePtr schedule) { found = schedule; });
    const Bytes budget(graph->full_peak.value * 8 / 10);
    solver.solve(graph, {.solver = "chen-greedy", .budget = budget});
    ASSERT_TRUE(eventually([&] { return !solver.running(); }));
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->ok());
    EXPECT_LE(found->report.peak, budget);
    EXPECT_GT(found->reruns, 0);
}

TEST(SolveController, SaysInPlainWordsWhyNothingFits) {
    const GraphPtr graph = loaded_chain(8);
    SolveController solver;
    NoScheduleReport report;
    int answers = 0;
    QObject::connect(&solver, &SolveController::infeasible, [&](const NoScheduleReport& r, qint64) {
        report = r;
        ++answers;
    });
    solver.solve(graph, {.solver = "chen-greedy", .budget = Bytes(4096)});
    ASSERT_TRUE(eventually([&] { return !solver.running(); }));
    ASSERT_EQ(answers, 1);
    EXPECT_TRUE(report.proven);
    EXPECT_EQ(report.needed, graph->least.bytes);
    EXPECT_TRUE(report.headline.contains("4.00 KiB")) << report.headline.toStdString();
    EXPECT_TRUE(report.headline.contains("at least"));
    EXPECT_TRUE(report.place.contains("aten::")) << "names the op: " << report.place.toStdString();
    ASSERT_FALSE(report.heaviest.isEmpty()) << "and the tensors with their bytes";
    EXPECT_EQ(report.heaviest.first().second, "1.00 MiB");
    EXPECT_TRUE(report.rest.contains("parameters")) << report.rest.toStdString();
}

TEST(SolveController, TellsWhatOnlyThisSolverCannotDo) {
    const GraphPtr graph = loaded_chain(4);
    const NoScheduleReport report = explain(*graph, Bytes(9 << 20),
                                            {.needed = Bytes(5 << 20),
                                             .proven = false,
                                             .smallest_found = Bytes(10 << 20),
                                             .op = OpId(1),
                                             .dominant = {}});
    EXPECT_TRUE(report.headline.contains("This solver"));
    EXPECT_TRUE(report.headline.contains("10.0 MiB"));
    EXPECT_TRUE(report.headline.contains("5.00 MiB"));
}

TEST(SolveController, ShowsIncumbentsAndCancels) {
    SolveController solver;
    solver.set_solve_function(endless);
    QSignalSpy improved(&solver, &SolveController::improved), solved(&solver, &SolveController::solved),
        finished(&solver, &SolveController::finished);
    solver.solve(loaded_chain(3), {});
    ASSERT_TRUE(eventually([&] { return improved.count() == 1; }));
    EXPECT_DOUBLE_EQ(improved.front()[0].toDouble(), 1.25);
    EXPECT_DOUBLE_EQ(improved.front()[2].toDouble(), 1.1);
    solver.cancel();
    EXPECT_FALSE(solver.running());
    EXPECT_EQ(finished.count(), 1);
    for (int i = 0; i < 10; ++i) process_events();
    EXPECT_EQ(solved.count(), 0);
}

TEST(SolveController, TheBestSoFarCanBeTaken) {
    SolveController solver;
    solver.set_solve_function(endless);
    QSignalSpy improved(&solver, &SolveController::improved), solved(&solver, &SolveController::solved);
    solver.solve(loaded_chain(3), {});
    ASSERT_TRUE(eventually([&] { return improved.count() == 1; }));
    solver.finish_early();
    EXPECT_TRUE(eventually([&] { return solved.count() == 1; }));
}

TEST(SolveController, WhatACancelledOrReplacedSolverHasIsHandedOver) {
    SolveController solver;
    solver.set_solve_function(endless);
    QSignalSpy left(&solver, &SolveController::left), solved(&solver, &SolveController::solved);
    solver.solve(loaded_chain(3), {});
    solver.solve(loaded_chain(3), {});
    EXPECT_TRUE(eventually([&] { return left.count() == 1; }));
    solver.cancel();
    EXPECT_TRUE(eventually([&] { return left.count() == 2; }));
    EXPECT_EQ(solved.count(), 0);
}

TEST(SolveController, AnUnknownSolverIsAMessage) {
    SolveController solver;
    QSignalSpy failed(&solver, &SolveController::failed);
    solver.solve(loaded_chain(3), {.solver = "oracle", .budget = Bytes(1)});
    ASSERT_TRUE(eventually([&] { return failed.count() == 1; }));
    EXPECT_TRUE(failed.front().front().toString().contains("oracle"));
}

TEST(SmallestBudgetProbe, FindsABudgetBetweenTheBoundAndThePeak) {
    const GraphPtr graph = loaded_chain(8);
    SmallestBudgetProbe probe;
    QSignalSpy found(&probe, &SmallestBudgetProbe::found);
    probe.start(graph);
    ASSERT_TRUE(eventually([&] { return found.count() == 1; }));
    EXPECT_GE(found.front().front().toLongLong(), graph->least.bytes.value);
    EXPECT_LT(found.front().front().toLongLong(), graph->full_peak.value);
}

}  // namespace
}  // namespace rematlas::explorer
