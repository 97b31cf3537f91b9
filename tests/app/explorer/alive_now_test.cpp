#include "app/explorer/models/alive_now.h"

#include <gtest/gtest.h>

#include "core/schedule/run_sequence.h"
#include "core/solvers/atlas/atlas.h"
#include "tests/app/explorer/training_chain.h"
#include "tests/core/support/random_graph.h"

namespace rematlas::explorer {
namespace {

/// Returns a schedule with reruns, in which ops run in place if possible.
SchedulePtr solved(Graph graph) {
    const GraphPtr loaded = prepare_graph(std::move(graph), {}, {});
    const Bytes budget((loaded->least.bytes.value + loaded->full_peak.value) / 2);
    const auto solver = make_atlas({.max_moves = 1'000, .first_cycle = 200});
    const Answer answer =
        solver->solve({loaded->graph, loaded->flat}, budget, {.time = std::chrono::hours(1)}, {});
    const auto* solution = std::get_if<Solution>(&answer);
    if (!solution) return nullptr;
    Schedule schedule;
    schedule.steps = solution->steps;
    return prepare_schedule(loaded, schedule);
}

TEST(AliveNow, AddsUpToWhatIsHeldWhileEachStepRuns) {
    int runs = 0, in_place = 0, again = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const SchedulePtr schedule = solved(random_training_graph(seed, {.forward_ops = 8}));
        if (!schedule) continue;
        const TensorLifetimes lifetimes(*schedule);
        again += schedule->reruns;
        for (std::size_t i = 0; i < schedule->schedule.steps.size(); ++i) {
            if (!schedule->schedule.steps[i].runs()) continue;
            ++runs;
            in_place += schedule->schedule.steps[i].kind == StepKind::run_inplace;
            const Alive alive = lifetimes.during(static_cast<int>(i));
            EXPECT_EQ(alive.total(), schedule->simulation.steps[i].during) << seed << " at " << i;
        }
    }
    EXPECT_GT(runs, 300);
    EXPECT_GT(in_place, 10);
    EXPECT_GT(again, 10);
}

TEST(AliveNow, SaysWhyATensorIsThere) {
    const GraphPtr graph = loaded_chain(3);
    const SchedulePtr schedule = prepare_schedule(graph, keep_all_schedule(*graph));
    const TensorLifetimes lifetimes(*schedule);
    const auto why = [&](int step, TensorId tensor) -> QString {
        for (const AliveTensor& alive : lifetimes.during(step).tensors)
            if (alive.tensor == tensor) return lifetimes.why(alive, step);
        return "gone";
    };
    const auto step_of = [&](OpId op) { return schedule->steps_of[op].front(); };
    const TensorId first = graph->graph.ops[OpId(0)].outputs.front();
    EXPECT_EQ(why(step_of(OpId(0)), first), "made now");
    EXPECT_EQ(why(step_of(OpId(1)), first), "read now");
    EXPECT_TRUE(why(step_of(OpId(3)), first).startsWith("read by "))
        << why(step_of(OpId(3)), first).toStdString();
    const int last = static_cast<int>(schedule->schedule.steps.size()) - 1;
    EXPECT_EQ(why(last, first), "gone");
    EXPECT_EQ(why(last, graph->graph.results.front()), "a result of the step");
}

}  // namespace
}  // namespace rematlas::explorer
