#include "viz/report/step_figures.h"

#include <algorithm>
#include <map>

#include "core/bounds/least_memory.h"
#include "core/graph/flat_graph.h"
#include "core/hierarchy/decompose.h"
#include "core/schedule/homes.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {
namespace {

/// Returns how often each op runs again.
IdVector<OpId, std::size_t> reruns_of(const Graph& graph, const Schedule& schedule) {
    IdVector<OpId, std::size_t> runs(graph.ops.size(), 0);
    for (const Step& step : schedule.steps)
        if (step.runs()) ++runs[step.op()];
    for (std::size_t& count : runs) count = count > 0 ? count - 1 : 0;
    return runs;
}

Nanoseconds times(Nanoseconds time, std::size_t count) {
    return Nanoseconds(time.value * static_cast<std::int64_t>(count));
}

/// Sums over the blocks of the step. The ops of a backward block are counted at the block's twin.
class ForestSums {
  public:
    ForestSums(const Graph& graph, const IdVector<OpId, std::size_t>& reruns)
        : graph_(graph),
          blocks_(decompose(graph)),
          sums_(blocks_.size()),
          block_of_(graph.ops.size()),
          holds_forward_(blocks_.size(), 0) {
        for (BlockId id : blocks_.ids())
            for (OpId op : blocks_[id].ops)
                if (graph.ops[op].phase == Phase::forward) holds_forward_[root_of(id)] = 1;
        for (BlockId id : blocks_.ids())
            for (OpId op : blocks_[id].ops) block_of_[op] = counted_at(id);
        for (OpId op : graph.ops.ids()) add_op(op, reruns[op]);
    }

    void add_held(OpId maker, Bytes bytes) {
        for_each_around(block_of_[maker], [&](BlockFigures& sum) { sum.at_peak += bytes; });
    }

    std::vector<BlockFigures> in_order() {
        std::vector<BlockFigures> rows;
        for (BlockId id : blocks_.ids())
            if (!blocks_[id].parent.valid()) append(id, 0, rows);
        return rows;
    }

  private:
    BlockId root_of(BlockId id) const {
        while (blocks_[id].parent.valid()) id = blocks_[id].parent;
        return id;
    }
    /// Returns the block at which the ops of block `id` are counted. This is `id` itself if the root around
    /// `id` contains forward ops, or if neither `id` nor a block around it has a twin. Otherwise it is the
    /// twin of the innermost of these blocks that has one.
    BlockId counted_at(BlockId id) const {
        if (holds_forward_[root_of(id)]) return id;
        for (BlockId at = id; at.valid(); at = blocks_[at].parent)
            if (blocks_[at].twin.valid()) return blocks_[at].twin;
        return id;
    }
    template <class Change>
    void for_each_around(BlockId id, Change change) {
        for (; id.valid(); id = blocks_[id].parent) change(sums_[id]);
    }
    void add_op(OpId id, std::size_t reruns) {
        const Op& op = graph_.ops[id];
        Bytes made;
        for (TensorId out : op.outputs) made += graph_.tensors[out].bytes;
        for_each_around(block_of_[id], [&](BlockFigures& sum) {
            ++sum.ops;
            sum.time += op.time;
            sum.made += made;
            sum.reruns += reruns;
            sum.extra += times(op.time, reruns);
        });
    }
    void append(BlockId id, int depth, std::vector<BlockFigures>& rows) {
        if (sums_[id].ops == 0) return;  // the block is counted at its twin
        const Block& block = blocks_[id];
        BlockFigures row = sums_[id];
        row.name = block.name.empty() ? "block " + std::to_string(id.value) : block.name;
        row.path = block.path.empty() ? row.name : block.path;
        row.depth = depth;
        rows.push_back(std::move(row));
        for (BlockId child : block.children) append(child, depth + 1, rows);
    }

    const Graph& graph_;
    IdVector<BlockId, Block> blocks_;
    IdVector<BlockId, BlockFigures> sums_;
    IdVector<OpId, BlockId> block_of_;
    IdVector<BlockId, char> holds_forward_;  ///< for each root: whether it contains forward ops
};

std::vector<RecomputedModule> recomputed_modules(const Graph& graph,
                                                 const IdVector<OpId, std::size_t>& reruns) {
    std::map<std::string, RecomputedModule> found;
    for (OpId id : graph.ops.ids()) {
        if (reruns[id] == 0) continue;
        const Op& op = graph.ops[id];
        const std::string path = op.module.empty() ? "(no module)" : op.module;
        RecomputedModule& module = found[path];
        module.path = path;
        ++module.ops;
        module.reruns += reruns[id];
        module.extra += times(op.time, reruns[id]);
    }
    std::vector<RecomputedModule> list;
    for (auto& [path, module] : found) list.push_back(std::move(module));
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.extra > b.extra; });
    return list;
}

Bytes copied_to_host(const Graph& graph, const Schedule& schedule) {
    Bytes sum;
    for (const Step& step : schedule.steps)
        if (step.kind == StepKind::offload) sum += graph.tensors[step.tensor()].bytes;
    return sum;
}

}  // namespace

Result<StepFigures> step_figures(const Graph& graph, const Schedule& schedule) {
    StepFigures figures;
    figures.check = check(graph, schedule);
    if (!figures.check.ok()) return Error{figures.check.violations.front(), ErrorKind::negative};
    const FlatGraph flat = flatten(graph);
    figures.keep_all_peak = keep_all_peak(flat);
    figures.keep_all_time = Nanoseconds(flat.base_time);
    figures.least = least_memory(flat).bytes;
    figures.resident = always_on_device(graph, schedule.steps, schedule.homes);
    figures.copied_to_host = copied_to_host(graph, schedule);
    figures.makers = producers(graph);
    const IdVector<OpId, std::size_t> reruns = reruns_of(graph, schedule);
    ForestSums sums(graph, reruns);
    if (!schedule.steps.empty()) {
        const Step& step = schedule.steps[figures.check.peak_step];
        figures.at_peak = held_during(graph, schedule.steps, figures.check.peak_step, schedule.homes);
        if (step.runs()) figures.peak_op = step.op();
    }
    for (const HeldTensor& held : figures.at_peak.tensors)
        if (figures.makers[held.tensor].valid()) sums.add_held(figures.makers[held.tensor], held.bytes);
    figures.blocks = sums.in_order();
    figures.recomputed = recomputed_modules(graph, reruns);
    return figures;
}

}  // namespace rematlas
