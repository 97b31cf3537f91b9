#include "app/explorer/models/block_sums.h"

#include <gtest/gtest.h>

#include "app/explorer/models/alive_now.h"
#include "app/explorer/words/wording.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

TEST(BlockSums, RootsAddUpToTheStep) {
    const GraphPtr graph = loaded_chain(4);
    Schedule steps = keep_all_schedule(*graph);
    const TensorId again = graph->graph.ops[OpId(0)].outputs.front();
    steps.steps.insert(steps.steps.begin(), {Step::run(OpId(0)), Step::free(again)});
    const SchedulePtr schedule = prepare_schedule(graph, steps);
    const BlockSums sums = block_sums(*schedule);
    BlockSum all;
    for (const BlockId root : graph->roots) {
        const BlockSum& sum = sums.blocks[root];
        all.at_peak += sum.at_peak;
        all.made.kept += sum.made.kept;
        all.made.recomputed += sum.made.recomputed;
        all.extra = Nanoseconds(all.extra.value + sum.extra.value);
        all.reruns += sum.reruns;
    }
    Bytes made, held;
    for (const OpId op : graph->graph.ops.ids()) made += bytes_made(graph->graph, op);
    const TensorLifetimes lifetimes(*schedule);
    for (const AliveTensor& alive :
         lifetimes.during(static_cast<int>(schedule->simulation.peak_step)).tensors)
        if (graph->producer[alive.tensor].valid()) held += alive.bytes;
    EXPECT_EQ(all.made.kept + all.made.recomputed, made);
    EXPECT_EQ(all.made.recomputed, bytes_made(graph->graph, OpId(0)));
    EXPECT_EQ(all.at_peak, held);
    EXPECT_GT(held.value, 0);
    EXPECT_EQ(all.extra, schedule->extra_time);
    EXPECT_EQ(all.reruns, 1);
    EXPECT_EQ(sums.peak, schedule->simulation.peak);
}

}  // namespace
}  // namespace rematlas::explorer
