#include "app/explorer/models/block_sums.h"

#include "app/explorer/models/alive_now.h"

namespace rematlas::explorer {
namespace {

BlockSum& operator+=(BlockSum& sum, const BlockSum& part) {
    sum.at_peak += part.at_peak;
    sum.made.kept += part.made.kept;
    sum.made.recomputed += part.made.recomputed;
    sum.made.offloaded += part.made.offloaded;
    sum.extra = Nanoseconds(sum.extra.value + part.extra.value);
    sum.reruns += part.reruns;
    return sum;
}

}  // namespace

BlockSums block_sums(const LoadedSchedule& schedule, const StepRange& range) {
    const LoadedGraph& graph = *schedule.graph;
    BlockSums sums;
    sums.ops.resize(graph.graph.ops.size());
    sums.blocks.resize(graph.graph.blocks.size());
    for (const OpId op : graph.graph.ops.ids()) {
        BlockSum& sum = sums.ops[op];
        for (const TensorId made : graph.graph.ops[op].outputs)
            sum.made.of(schedule.decisions.tensors[made]) += graph.graph.tensors[made].bytes;
        const std::vector<int>& runs = schedule.steps_of[op];
        for (std::size_t i = 1; i < runs.size(); ++i) sum.reruns += range.contains(runs[i]);
        sum.extra = Nanoseconds(graph.graph.ops[op].time.value * sum.reruns);
    }
    if (!schedule.simulation.steps.empty()) {
        const int heaviest = heaviest_step(schedule, range);
        sums.peak = schedule.simulation.steps[static_cast<std::size_t>(heaviest)].during;
        const TensorLifetimes lifetimes(schedule);
        for (const AliveTensor& alive : lifetimes.during(heaviest).tensors)
            if (const OpId op = graph.producer[alive.tensor]; op.valid()) sums.ops[op].at_peak += alive.bytes;
    }
    for (const OpId op : graph.graph.ops.ids())
        for (BlockId block = graph.block_of[op]; block.valid(); block = graph.graph.blocks[block].parent)
            sums.blocks[block] += sums.ops[op];
    return sums;
}

}  // namespace rematlas::explorer
