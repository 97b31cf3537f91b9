#include "app/explorer/loaded/loaded_graph.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/bounds/least_memory.h"
#include "core/graph/graph_file.h"
#include "core/hierarchy/decompose.h"
#include "core/planning/solve.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"

namespace rematlas::explorer {
namespace {

void include_op(BlockFacts& facts, const Graph& graph, OpId id) {
    const Op& op = graph.ops[id];
    ++facts.ops;
    facts.time += op.time;
    for (TensorId tensor : op.outputs) facts.made += graph.tensors[tensor].bytes;
    if (!facts.first.valid() || id < facts.first) {
        facts.first = id;
        facts.phase = op.phase;
    }
    facts.last = std::max(facts.last, id);
}

void count_repeats(LoadedGraph& loaded) {
    std::map<int, int> sizes;
    for (const Block& block : loaded.graph.blocks) ++sizes[block.repeat_class];
    for (BlockId id : loaded.graph.blocks.ids()) {
        const int repeat_class = loaded.graph.blocks[id].repeat_class;
        loaded.facts[id].repeats = repeat_class < 0 ? 1 : sizes[repeat_class];
    }
}

void derive_blocks(LoadedGraph& loaded) {
    const Graph& graph = loaded.graph;
    loaded.facts = IdVector<BlockId, BlockFacts>(graph.blocks.size());
    loaded.block_of = IdVector<OpId, BlockId>(graph.ops.size());
    loaded.roots.clear();
    for (BlockId id : graph.blocks.ids()) {
        for (OpId op : graph.blocks[id].ops) {
            loaded.block_of[op] = id;
            for (BlockId at = id; at.valid(); at = graph.blocks[at].parent) {
                include_op(loaded.facts[at], graph, op);
            }
        }
        if (!graph.blocks[id].parent.valid()) loaded.roots.push_back(id);
    }
    std::stable_sort(loaded.roots.begin(), loaded.roots.end(),
                     [&](BlockId a, BlockId b) { return loaded.facts[a].first < loaded.facts[b].first; });
    count_repeats(loaded);
}

}  // namespace

GraphPtr prepare_graph(Graph graph, std::string text, std::filesystem::path path) {
    auto loaded = std::make_shared<LoadedGraph>();
    loaded->graph = std::move(graph);
    loaded->graph.blocks = loaded->own_blocks = decompose(loaded->graph);
    loaded->flat = flatten(loaded->graph);
    loaded->text = std::move(text);
    loaded->path = std::move(path);
    loaded->producer = producers(loaded->graph);
    derive_blocks(*loaded);
    loaded->full_peak = keep_all_peak(loaded->flat);
    loaded->least = least_memory(loaded->flat, {.time = std::chrono::milliseconds(500)});
    const auto least_with = [&](Offload what) {
        return least_needed({loaded->graph, loaded->flat, {.what = what}});
    };
    loaded->least_with_activations = least_with(Offload::activations);
    loaded->least_with_weights = least_with(Offload::all);
    return loaded;
}

Bytes LoadedGraph::least_with(Offload what) const {
    if (what == Offload::none) return least.bytes;
    return moves_weights(what) ? least_with_weights : least_with_activations;
}

GraphPtr in_blocks_of(const LoadedGraph& graph, std::optional<Partition> partition) {
    auto other = std::make_shared<LoadedGraph>(graph);
    other->partition = partition;
    other->graph.blocks =
        partition ? decompose(graph.graph, {.by = *partition, .nest_sequences = true}) : graph.own_blocks;
    derive_blocks(*other);
    return other;
}

Result<GraphPtr> load_graph(const std::filesystem::path& path) {
    Result<std::string> text = read_file(path);
    if (!text) return text.error();
    Result<Graph> graph = parse_graph(*text, path.string());
    if (!graph) return graph.error();
    graph->sha256 = sha256(*text);
    return prepare_graph(graph.take(), text.take(), path);
}

std::string told_of_origin(const LoadedGraph& graph, std::string_view key) {
    if (!graph.graph.provenance || !graph.graph.provenance->is_object()) return {};
    const auto found = graph.graph.provenance->find(key);
    if (found == graph.graph.provenance->end() || !found->is_string()) return {};
    return found->get<std::string>();
}

std::vector<BlockId> ancestry(const LoadedGraph& graph, BlockId block) {
    std::vector<BlockId> path;
    for (BlockId at = block; at.valid(); at = graph.graph.blocks[at].parent) path.push_back(at);
    std::reverse(path.begin(), path.end());
    return path;
}

std::vector<OpId> ops_under(const LoadedGraph& graph, BlockId block) {
    std::vector<OpId> ops;
    std::vector<BlockId> open{block};
    while (!open.empty()) {
        const Block& at = graph.graph.blocks[open.back()];
        open.pop_back();
        ops.insert(ops.end(), at.ops.begin(), at.ops.end());
        open.insert(open.end(), at.children.begin(), at.children.end());
    }
    std::sort(ops.begin(), ops.end());
    return ops;
}

std::vector<OpId> ops_of(const LoadedGraph& graph, const Selected& selected) {
    if (graph.graph.ops.contains(selected.op)) return {selected.op};
    std::vector<OpId> ops;
    for (const BlockId block : selected.run) {
        if (!graph.graph.blocks.contains(block)) return {};
        const std::vector<OpId> inside = ops_under(graph, block);
        ops.insert(ops.end(), inside.begin(), inside.end());
    }
    std::sort(ops.begin(), ops.end());
    if (!ops.empty()) return ops;
    if (graph.graph.blocks.contains(selected.block)) return ops_under(graph, selected.block);
    return {};
}

IdVector<OpId, char> marked_ops(const LoadedGraph& graph, const Selected& selected) {
    IdVector<OpId, char> marked;
    if (selected.empty()) return marked;
    marked.resize(graph.graph.ops.size());
    for (const OpId op : ops_of(graph, selected)) marked[op] = 1;
    return marked;
}

}  // namespace rematlas::explorer
