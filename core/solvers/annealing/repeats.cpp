#include "core/solvers/annealing/repeats.h"

#include <algorithm>
#include <map>

#include "core/hierarchy/decompose.h"

namespace rematlas::annealing {

namespace {

using BlockForest = IdVector<BlockId, Block>;

void collect_ops(const BlockForest& blocks, BlockId id, std::vector<std::int32_t>& ops) {
    for (const OpId op : blocks[id].ops) ops.push_back(op.value);
    for (const BlockId child : blocks[id].children) collect_ops(blocks, child, ops);
}

/// For each class of equal blocks: the ops of each block.
using Classes = std::map<int, std::vector<std::vector<std::int32_t>>>;

void collect_outermost(const BlockForest& blocks, BlockId id, Classes& classes) {
    if (blocks[id].repeat_class < 0) {
        for (const BlockId child : blocks[id].children) collect_outermost(blocks, child, classes);
        return;
    }
    std::vector<std::int32_t> ops;
    collect_ops(blocks, id, ops);
    std::sort(ops.begin(), ops.end());
    classes[blocks[id].repeat_class].push_back(std::move(ops));
}

}  // namespace

Repeats repeats_of(const Graph& graph) {
    Repeats repeats{.group = std::vector<std::int32_t>(graph.ops.size(), -1), .alike = {}};
    const BlockForest blocks = decompose(graph);
    Classes classes;
    for (BlockId id(0); id.index() < blocks.size(); ++id.value)
        if (!blocks[id].parent.valid()) collect_outermost(blocks, id, classes);
    for (const auto& [unused, lists] : classes) {
        const std::size_t length = lists.front().size();
        const bool equal =
            std::all_of(lists.begin(), lists.end(), [&](const auto& list) { return list.size() == length; });
        if (lists.size() < 2 || !equal) continue;
        for (std::size_t i = 0; i < length; ++i) {
            const auto group = static_cast<std::int32_t>(repeats.alike.size());
            std::vector<std::int32_t>& alike = repeats.alike.emplace_back();
            for (const auto& list : lists) {
                alike.push_back(list[i]);
                repeats.group[list[i]] = group;
            }
        }
    }
    return repeats;
}

}  // namespace rematlas::annealing
