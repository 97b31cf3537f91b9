#include "viz/block_view/block_view.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "viz/block_view/scattered_blocks.h"

namespace rematlas {

namespace {

bool below_loss(Phase phase) {
    return phase == Phase::forward || phase == Phase::loss;
}

EdgeRole role_of(Phase from, Phase to) {
    if (below_loss(from) && below_loss(to)) return EdgeRole::down;
    if (from == Phase::backward && to == Phase::backward) return EdgeRole::up;
    if (from == Phase::optimizer && to == Phase::optimizer) return EdgeRole::down;
    return EdgeRole::rung;
}

std::string label_of(const Op& op) {
    std::size_t colons = op.name.rfind("::");
    return colons == std::string::npos ? op.name : op.name.substr(colons + 2);
}

std::string path_of(const Op& op) {
    return op.module.empty() ? op.name : op.module + " " + op.name;
}

std::string name_of(const Block& block) {
    return !block.name.empty() ? block.name : block.path.empty() ? "model" : block.path;
}

/// Returns the label of a block. Modules in a list are named 0, 1, 2, so their labels begin with the name of
/// the list.
std::string label_of(const Blocks& blocks, BlockId b) {
    std::string name = name_of(blocks[b]);
    bool numbered =
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
    BlockId list = blocks[b].parent;
    bool named_list = list.valid() && blocks[list].parent.valid() && !blocks[list].name.empty();
    return numbered && named_list ? blocks[list].name + "." + name : name;
}

/// Builds the view in three passes: first the visible items, then the sums of each item, then the edges
/// between items.
class ViewBuilder {
  public:
    ViewBuilder(const Graph& graph, const Blocks& blocks, const ExpandedBlocks& expanded,
                const Decisions* decisions)
        : graph_(graph),
          blocks_(blocks),
          expanded_(expanded),
          decisions_(decisions),
          covered_(ops_covered(blocks)),
          runs_(runs_of(blocks)),
          scattered_(scattered_blocks(graph, blocks)),
          in_run_(blocks.size(), false) {
        view_.item_of = IdVector<OpId, int>(graph.ops.size(), -1);
        view_.cluster_of = IdVector<BlockId, int>(blocks.size(), -1);
    }

    BlockView build() {
        for (BlockId b : blocks_.ids())
            if (blocks_[b].repeat_class >= 0) ++class_sizes_[{blocks_[b].parent, blocks_[b].repeat_class}];
        for (BlockId b : blocks_.ids())
            if (!blocks_[b].parent.valid()) show(b);
        // Ops in no block are shown as single items, so that every op is in the view.
        for (OpId op : graph_.ops.ids())
            if (view_.item_of[op] < 0) add_op(op, -1);
        sort_by_first_op();
        sum_up();
        pair_clusters();
        pair_twins();
        connect();
        return std::move(view_);
    }

  private:
    /// A block with a single op cannot be expanded.
    bool is_expanded(BlockId b) const {
        return covered_[b] > 1 && rematlas::is_expanded(blocks_, expanded_, b);
    }

    int repeats_of(BlockId b) const {
        auto found = class_sizes_.find({blocks_[b].parent, blocks_[b].repeat_class});
        return found == class_sizes_.end() ? 1 : found->second;
    }

    /// Shows `root` and, from the outside in, every block whose ancestors are all expanded.
    void show(BlockId root) {
        struct Waiting {
            std::vector<BlockId> blocks;  ///< one block, or all blocks of a run
            int cluster;
        };
        std::vector<Waiting> waiting{{{root}, -1}};
        while (!waiting.empty()) {
            const Waiting next = std::move(waiting.back());
            waiting.pop_back();
            const BlockId b = next.blocks.front();
            if (covered_[b] == 0) continue;
            if (next.blocks.size() == 1 && scattered_[b]) {  // the children of `b` are shown in the
                                                             // surrounding frame
                for (const BlockId child : blocks_[b].children) waiting.push_back({{child}, next.cluster});
                continue;
            }
            if (next.blocks.size() > 1 || !is_expanded(b)) {
                add_blocks(next.blocks, next.cluster);
                continue;
            }
            const int inside = add_cluster(b, next.cluster);
            for (OpId op : blocks_[b].ops) add_op(op, inside);
            const auto& children = blocks_[b].children;
            for (std::size_t i = children.size(); i > 0;) {
                const BlockId child = children[--i];
                if (in_run_[child]) continue;
                std::vector<BlockId> run = folded_run(blocks_, runs_, expanded_, child);
                if (run.empty()) run.push_back(child);
                for (BlockId member : run) in_run_[member] = true;
                waiting.push_back({std::move(run), inside});
            }
        }
    }

    /// Adds the frame of an expanded block. If a block contains nothing but one expanded block, the two
    /// blocks share one frame: "encoder.layers" instead of two frames.
    int add_cluster(BlockId b, int parent) {
        if (parent >= 0 && blocks_[b].parent.valid()) {
            const Block& around = blocks_[blocks_[b].parent];
            bool only_child = around.ops.empty() && covered_[blocks_[b].parent] == covered_[b];
            BlockViewCluster& frame = view_.clusters[parent];
            if (only_child && around.parent.valid()) {
                frame.label += "." + name_of(blocks_[b]);
                frame.path = blocks_[b].path;
                view_.cluster_of[b] = parent;
                return parent;
            }
        }
        view_.clusters.push_back(
            {b, parent, repeats_of(b), label_of(blocks_, b), blocks_[b].path, Phase::forward});
        return view_.cluster_of[b] = static_cast<int>(view_.clusters.size()) - 1;
    }

    void add_op(OpId op, int cluster) {
        if (!graph_.ops.contains(op) || view_.item_of[op] >= 0) return;
        BlockViewItem item;
        item.op = op;
        item.cluster = cluster;
        item.label = label_of(graph_.ops[op]);
        item.path = path_of(graph_.ops[op]);
        add_item(std::move(item), {op});
    }

    /// Adds a block, or a run of several equal blocks, as one item.
    void add_blocks(const std::vector<BlockId>& shown, int cluster) {
        const BlockId b = shown.front();
        std::vector<OpId> ops;
        std::vector<BlockId> waiting = shown;
        while (!waiting.empty()) {
            const Block& block = blocks_[waiting.back()];
            waiting.pop_back();
            for (OpId op : block.ops)
                if (graph_.ops.contains(op) && view_.item_of[op] < 0) ops.push_back(op);
            waiting.insert(waiting.end(), block.children.begin(), block.children.end());
        }
        if (ops.empty()) return;
        BlockViewItem item;
        item.block = b;
        item.cluster = cluster;
        item.label = label_of(blocks_, b);
        item.path = blocks_[b].path;
        item.repeats = repeats_of(b);
        if (shown.size() > 1) {
            item.run = shown;
            item.label += "-" + name_of(blocks_[shown.back()]);
            item.path += "-" + name_of(blocks_[shown.back()]);
        } else if (ops.size() == 1) {
            item.op = ops.front();
            item.path = path_of(graph_.ops[item.op]);
        }
        add_item(std::move(item), ops);
    }

    void add_item(BlockViewItem item, const std::vector<OpId>& ops) {
        for (OpId op : ops) view_.item_of[op] = static_cast<int>(view_.items.size());
        item.op_count = static_cast<int>(ops.size());
        first_op_.push_back(*std::min_element(ops.begin(), ops.end()));
        view_.items.push_back(std::move(item));
    }

    void sort_by_first_op() {
        std::vector<int> order(view_.items.size()), place(view_.items.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
        std::sort(order.begin(), order.end(), [&](int a, int b) { return first_op_[a] < first_op_[b]; });
        std::vector<BlockViewItem> items;
        items.reserve(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            place[order[i]] = static_cast<int>(i);
            items.push_back(std::move(view_.items[order[i]]));
        }
        view_.items = std::move(items);
        for (int& item : view_.item_of) item = place[item];
    }

    Decision decision_of(TensorId t) const { return decisions_ ? decisions_->tensors[t] : Decision::keep; }

    void sum_up() {
        for (OpId op : graph_.ops.ids()) {
            BlockViewItem& item = view_.items[view_.item_of[op]];
            const Op& source = graph_.ops[op];
            if (item.time.value == 0 && item.runs == 0 && item.made.total().value == 0)
                item.phase = source.phase;
            item.time += source.time;
            if (decisions_) item.runs += decisions_->runs[op];
            for (TensorId t : source.outputs) item.made.of(decision_of(t)) += graph_.tensors[t].bytes;
        }
        for (const BlockViewItem& item : view_.items)
            for (int c = item.cluster; c >= 0; c = view_.clusters[c].parent)
                view_.clusters[c].phase = item.phase;
    }

    /// Finds the twins of frames. A frame that several blocks share gets the twin of the outermost of these
    /// blocks that has a twin.
    void pair_clusters() {
        for (BlockId b : blocks_.ids()) {
            const BlockId twin = blocks_[b].twin;
            if (view_.cluster_of[b] < 0 || !blocks_.contains(twin) || view_.cluster_of[twin] < 0) continue;
            BlockViewCluster &one = view_.clusters[view_.cluster_of[b]],
                             &other = view_.clusters[view_.cluster_of[twin]];
            if (one.twin >= 0 || other.twin >= 0) continue;
            one.twin = view_.cluster_of[twin];
            other.twin = view_.cluster_of[b];
        }
    }

    void pair_twins() {
        std::unordered_map<BlockId, int> shown;
        for (std::size_t i = 0; i < view_.items.size(); ++i)
            if (view_.items[i].block.valid()) shown[view_.items[i].block] = static_cast<int>(i);
        for (auto [block, i] : shown) {
            auto other = shown.find(blocks_[block].twin);
            if (other == shown.end()) continue;
            view_.items[i].twin = other->second;
            if (view_.items[i].phase != Phase::backward) view_.pairs.push_back({i, other->second});
        }
        for (OpId op : graph_.ops.ids()) {
            if (!graph_.ops[op].of || !graph_.ops.contains(*graph_.ops[op].of)) continue;
            int backward = view_.item_of[op], forward = view_.item_of[*graph_.ops[op].of];
            if (backward == forward) continue;
            view_.pairs.push_back({forward, backward});
            if (view_.items[backward].twin < 0) view_.items[backward].twin = forward;
            if (view_.items[forward].twin < 0) view_.items[forward].twin = backward;
        }
        auto order = [](const LayoutPair& a, const LayoutPair& b) {
            return std::pair(a.left, a.right) < std::pair(b.left, b.right);
        };
        std::sort(view_.pairs.begin(), view_.pairs.end(), order);
        view_.pairs.erase(std::unique(view_.pairs.begin(), view_.pairs.end()), view_.pairs.end());
    }

    /// Says for each tensor whether it is the new value of a buffer. Such tensors are inputs of the loss op,
    /// which waits for them but does not read them.
    std::vector<char> new_states() const {
        std::vector<char> found(graph_.tensors.size(), 0);
        for (const Op& op : graph_.ops) {
            const bool reads_buffer = std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId t) {
                return graph_.tensors[t].kind == TensorKind::buffer;
            });
            if (!reads_buffer || !op.name.ends_with("::copy_")) continue;
            for (const TensorId t : op.outputs) found[static_cast<std::size_t>(t.value)] = 1;
        }
        return found;
    }

    void connect() {
        IdVector<TensorId, std::vector<int>> readers(graph_.tensors.size());
        const std::vector<char> is_state = new_states();
        for (OpId op : graph_.ops.ids())
            for (TensorId t : graph_.ops[op].inputs) {
                const bool waits =
                    graph_.ops[op].phase == Phase::loss && is_state[static_cast<std::size_t>(t.value)];
                if (!waits) readers[t].push_back(view_.item_of[op]);
            }
        std::unordered_map<std::uint64_t, int> known;
        for (OpId op : graph_.ops.ids()) {
            for (TensorId t : graph_.ops[op].outputs) {
                std::vector<int>& to = readers[t];
                std::sort(to.begin(), to.end());
                to.erase(std::unique(to.begin(), to.end()), to.end());
                for (int item : to)
                    if (item != view_.item_of[op]) add_tensor(known, view_.item_of[op], item, t);
            }
        }
        std::sort(view_.edges.begin(), view_.edges.end(), [](const BlockViewEdge& a, const BlockViewEdge& b) {
            return std::pair(a.from, a.to) < std::pair(b.from, b.to);
        });
    }

    void add_tensor(std::unordered_map<std::uint64_t, int>& known, int from, int to, TensorId t) {
        std::uint64_t key = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
        auto [place, fresh] = known.try_emplace(key, static_cast<int>(view_.edges.size()));
        if (fresh)
            view_.edges.push_back({from, to, role_of(view_.items[from].phase, view_.items[to].phase), 0, {}});
        BlockViewEdge& edge = view_.edges[place->second];
        ++edge.tensors;
        edge.bytes.of(decision_of(t)) += graph_.tensors[t].bytes;
    }

    const Graph& graph_;
    const Blocks& blocks_;
    const ExpandedBlocks& expanded_;
    const Decisions* decisions_;
    BlockView view_;
    IdVector<BlockId, int> covered_;
    BlockRuns runs_;
    IdVector<BlockId, char> scattered_;
    IdVector<BlockId, char> in_run_;  ///< whether `show` has already added the block to the blocks to show,
                                      ///< alone or in a run
    std::vector<OpId> first_op_;
    std::map<std::pair<BlockId, int>, int>
        class_sizes_;  ///< for each parent and repeat class: how many blocks
};

}  // namespace

Decision DecisionShares::largest() const {
    if (offloaded >= recomputed && offloaded > kept) return Decision::offload;
    return recomputed > kept ? Decision::recompute : Decision::keep;
}

Bytes bytes_made(const Graph& graph, OpId op) {
    Bytes sum;
    for (TensorId tensor : graph.ops[op].outputs) sum += graph.tensors[tensor].bytes;
    return sum;
}

Decisions decisions_of(const Graph& graph, std::span<const Step> steps) {
    Decisions decisions{IdVector<OpId, int>(graph.ops.size(), 0),
                        IdVector<TensorId, Decision>(graph.tensors.size(), Decision::keep)};
    for (const Step& step : steps) {
        if (step.runs() && graph.ops.contains(step.op())) ++decisions.runs[step.op()];
        if (step.kind == StepKind::offload && graph.tensors.contains(step.tensor()))
            decisions.tensors[step.tensor()] = Decision::offload;
    }
    for (OpId op : graph.ops.ids()) {
        if (decisions.runs[op] < 2) continue;
        for (TensorId t : graph.ops[op].outputs)
            if (decisions.tensors[t] == Decision::keep) decisions.tensors[t] = Decision::recompute;
    }
    return decisions;
}

BlockView make_block_view(const Graph& graph, const Blocks& blocks, const ExpandedBlocks& expanded,
                          const Decisions* decisions) {
    return ViewBuilder(graph, blocks, expanded, decisions).build();
}

LayoutRequest layout_request(const BlockView& view, std::span<const Size> item_sizes,
                             std::span<const Size> title_sizes) {
    LayoutRequest request;
    request.items.reserve(view.items.size());
    for (std::size_t i = 0; i < view.items.size(); ++i)
        request.items.push_back({item_sizes[i], view.items[i].cluster});
    for (std::size_t i = 0; i < view.clusters.size(); ++i)
        request.clusters.push_back({view.clusters[i].parent, title_sizes[i], view.clusters[i].twin});
    // A saved tensor is often read far from the op that made it. If the edge of such a tensor restricted the
    // heights of its two ends, an early use would shift all other items. So the edge gets the role `free`,
    // with two exceptions:
    // - An edge between the two items of a pair keeps its role, so that the pair stays at one height.
    // - If the reader is the right-hand item of no pair and no edge of role `up` starts or ends at it, the
    //   edge keeps the role `rung`, so that the reader is never above the maker.
    std::set<std::pair<int, int>> unmet;
    std::vector<char> held(view.items.size(), 0);
    for (const LayoutPair& pair : view.pairs) {
        unmet.emplace(pair.left, pair.right);
        held[pair.right] = 1;
    }
    for (const BlockViewEdge& edge : view.edges)
        if (edge.role == EdgeRole::up) held[edge.from] = held[edge.to] = 1;
    request.edges.reserve(view.edges.size());
    for (const BlockViewEdge& edge : view.edges) {
        LayoutEdge asked{edge.from, edge.to, edge.role, edge.role == EdgeRole::rung ? 1.0 : 4.0};
        const bool saved = edge.role == EdgeRole::rung && view.items[edge.from].phase == Phase::forward;
        if (unmet.erase({edge.from, edge.to}) > 0)
            asked = {edge.from, edge.to, EdgeRole::rung, 8};
        else if (saved && held[edge.to])
            asked.role = EdgeRole::free;
        request.edges.push_back(asked);
    }
    for (auto [left, right] : unmet) request.pairs.push_back({left, right});
    return request;
}

}  // namespace rematlas
