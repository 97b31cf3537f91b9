#include "viz/block_view/scattered_blocks.h"

#include <algorithm>

namespace rematlas {

namespace {

/// Returns the ops of the block and of the blocks inside it, ascending.
std::vector<OpId> ops_inside(const Graph& graph, const Blocks& blocks, BlockId block) {
    std::vector<OpId> ops;
    std::vector<BlockId> waiting{block};
    while (!waiting.empty()) {
        const Block& at = blocks[waiting.back()];
        waiting.pop_back();
        std::copy_if(at.ops.begin(), at.ops.end(), std::back_inserter(ops),
                     [&](OpId op) { return graph.ops.contains(op); });
        std::copy_if(at.children.begin(), at.children.end(), std::back_inserter(waiting),
                     [&](BlockId child) { return blocks.contains(child); });
    }
    std::sort(ops.begin(), ops.end());
    return ops;
}

/// Says whether a path of tensors leaves the block and comes back. `ops` must be the ops of the block,
/// ascending.
bool comes_back(const Graph& graph, const IdVector<TensorId, OpId>& producer, const std::vector<OpId>& ops) {
    enum : char { untouched, inside, behind };
    const OpId first = ops.front(), last = ops.back();
    std::vector<char> state(static_cast<std::size_t>(last.value - first.value) + 1, untouched);
    const auto at = [&](OpId op) -> char& { return state[static_cast<std::size_t>(op.value - first.value)]; };
    for (const OpId op : ops) at(op) = inside;
    for (OpId op = first; op <= last; ++op.value) {
        bool reads_block = false, reads_behind = false;
        for (const TensorId tensor : graph.ops[op].inputs) {
            const OpId maker = producer[tensor];
            if (!maker.valid() || maker < first || maker >= op) continue;
            reads_block |= at(maker) == inside;
            reads_behind |= at(maker) == behind;
        }
        if (at(op) == inside && reads_behind) return true;
        if (at(op) != inside && (reads_block || reads_behind)) at(op) = behind;
    }
    return false;
}

}  // namespace

IdVector<BlockId, char> scattered_blocks(const Graph& graph, const Blocks& blocks) {
    IdVector<BlockId, char> scattered(blocks.size(), 0);
    const IdVector<TensorId, OpId> producer = producers(graph);
    for (const BlockId block : blocks.ids()) {
        if (!blocks[block].ops.empty() || blocks[block].children.size() < 2) continue;
        const std::vector<OpId> ops = ops_inside(graph, blocks, block);
        if (ops.empty()) continue;
        const auto length = static_cast<std::size_t>(ops.back().value - ops.front().value) + 1;
        if (length == ops.size() || !comes_back(graph, producer, ops)) continue;
        scattered[block] = 1;
        if (blocks.contains(blocks[block].twin)) scattered[blocks[block].twin] = 1;
    }
    return scattered;
}

}  // namespace rematlas
