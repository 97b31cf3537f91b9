#include "viz/block_view/expanded_blocks.h"

#include <algorithm>

namespace rematlas {

namespace {

constexpr std::size_t kShortestRun = 3;

IdVector<BlockId, int> depths(const Blocks& blocks) {
    IdVector<BlockId, int> depth(blocks.size(), -1);
    std::vector<BlockId> waiting;
    for (BlockId b : blocks.ids()) {
        if (blocks[b].parent.valid()) continue;
        depth[b] = 0;
        waiting.push_back(b);
    }
    while (!waiting.empty()) {
        BlockId b = waiting.back();
        waiting.pop_back();
        for (BlockId child : blocks[b].children) {
            if (depth[child] >= 0) continue;
            depth[child] = depth[b] + 1;
            waiting.push_back(child);
        }
    }
    return depth;
}

/// Says whether the block is the later one of two twins. Such a block is expanded and folded like its twin.
bool follows_twin(const Blocks& blocks, BlockId b) {
    const BlockId twin = blocks[b].twin;
    return blocks.contains(twin) && twin < b && blocks[twin].twin == b;
}

BlockId parent_of_twin(const Blocks& blocks, BlockId b) {
    return blocks.contains(blocks[b].twin) ? blocks[blocks[b].twin].parent : BlockId();
}

bool goes_on(const Blocks& blocks, BlockId before, BlockId b) {
    const Block &x = blocks[before], &y = blocks[b];
    return x.repeat_class >= 0 && x.repeat_class == y.repeat_class && !follows_twin(blocks, b) &&
           x.twin.valid() == y.twin.valid() && parent_of_twin(blocks, before) == parent_of_twin(blocks, b);
}

/// Marks the children from `begin` to `end` - 1, and their twins, as one run.
void mark_run(const Blocks& blocks, BlockRuns& runs, const std::vector<BlockId>& children, std::size_t begin,
              std::size_t end) {
    if (end - begin < kShortestRun) return;
    for (std::size_t i = begin; i < end; ++i) {
        runs.first[children[i]] = children[begin];
        const BlockId twin = blocks[children[i]].twin;
        if (blocks.contains(twin)) runs.first[twin] = children[begin];
    }
}

}  // namespace

bool is_expanded(const Blocks& blocks, const ExpandedBlocks& expanded, BlockId block) {
    if (!blocks.contains(block)) return false;
    return expanded.contains(block) || (blocks[block].twin.valid() && expanded.contains(blocks[block].twin));
}

ExpandedBlocks expanded_to_depth(const Blocks& blocks, int depth) {
    ExpandedBlocks expanded;
    IdVector<BlockId, int> at = depths(blocks);
    for (BlockId b : blocks.ids())
        if (at[b] >= 0 && at[b] < depth) expanded.insert(b);
    return expanded;
}

int full_depth(const Blocks& blocks) {
    int deepest = 0;
    for (int depth : depths(blocks)) deepest = std::max(deepest, depth + 1);
    return deepest;
}

int depth_for(const Blocks& blocks, int max_items) {
    const IdVector<BlockId, int> at = depths(blocks), covered = ops_covered(blocks);
    const BlockRuns runs = runs_of(blocks);
    int best = 1;
    for (int depth = 1; depth <= full_depth(blocks); ++depth) {
        std::size_t items = 0;
        for (BlockId b : blocks.ids()) {
            if (at[b] < depth && covered[b] > 1) items += blocks[b].ops.size();
            const BlockId first = runs.first[b];
            const bool stands_for_all = !first.valid() || first == b || blocks[first].twin == b;
            const bool collapsed = at[b] == depth && covered[b] > 0 && stands_for_all;
            if (collapsed || (at[b] < depth && covered[b] == 1 && !blocks[b].ops.empty())) ++items;
        }
        if (items > static_cast<std::size_t>(std::max(max_items, 1))) break;
        best = depth;
    }
    return best;
}

void expand(const Blocks& blocks, ExpandedBlocks& expanded, BlockId block) {
    if (!blocks.contains(block)) return;
    expanded.insert(block);
    if (blocks[block].twin.valid()) expanded.insert(blocks[block].twin);
}

void collapse(const Blocks& blocks, ExpandedBlocks& expanded, BlockId block) {
    std::vector<BlockId> waiting{block};
    if (blocks.contains(block) && blocks[block].twin.valid()) waiting.push_back(blocks[block].twin);
    while (!waiting.empty()) {
        BlockId b = waiting.back();
        waiting.pop_back();
        if (!blocks.contains(b)) continue;
        expanded.blocks.erase(b);
        for (BlockId child : blocks[b].children) expanded.unfolded.erase(child);
        waiting.insert(waiting.end(), blocks[b].children.begin(), blocks[b].children.end());
    }
}

IdVector<BlockId, int> ops_covered(const Blocks& blocks) {
    IdVector<BlockId, int> counts(blocks.size(), 0);
    for (BlockId b : blocks.ids()) {
        int own = static_cast<int>(blocks[b].ops.size());
        // A forest that passes `validate` has no cycle. The limit on `i` ends the loop if the forest is
        // malformed.
        BlockId at = b;
        for (std::size_t i = 0; blocks.contains(at) && i < blocks.size() && own > 0;
             ++i, at = blocks[at].parent)
            counts[at] += own;
    }
    return counts;
}

BlockRuns runs_of(const Blocks& blocks) {
    BlockRuns runs{IdVector<BlockId, BlockId>(blocks.size(), BlockId())};
    for (const Block& parent : blocks) {
        const std::vector<BlockId>& children = parent.children;
        std::size_t begin = 0;
        for (std::size_t i = 1; i <= children.size(); ++i) {
            if (i < children.size() && goes_on(blocks, children[i - 1], children[i])) continue;
            if (!follows_twin(blocks, children[begin])) mark_run(blocks, runs, children, begin, i);
            begin = i;
        }
    }
    return runs;
}

std::vector<BlockId> folded_run(const Blocks& blocks, const BlockRuns& runs, const ExpandedBlocks& expanded,
                                BlockId block) {
    const BlockId first = blocks.contains(block) ? runs.first[block] : BlockId();
    if (!first.valid() || expanded.unfolded.contains(first) || is_expanded(blocks, expanded, block))
        return {};
    const bool twins = follows_twin(blocks, block);
    const BlockId own = twins ? blocks[block].twin : block;
    const std::vector<BlockId>& siblings = blocks[blocks[own].parent].children;
    const auto stays = [&](BlockId b) { return runs.first[b] == first && !is_expanded(blocks, expanded, b); };
    auto begin = std::find(siblings.begin(), siblings.end(), own), end = begin;
    while (begin != siblings.begin() && stays(*(begin - 1))) --begin;
    while (end != siblings.end() && stays(*end)) ++end;
    if (static_cast<std::size_t>(end - begin) < kShortestRun) return {};
    std::vector<BlockId> run(begin, end);
    if (twins)
        for (BlockId& b : run) b = blocks[b].twin;
    return run;
}

}  // namespace rematlas
