#include "core/hierarchy/decompose.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>

namespace rematlas {
namespace {

constexpr std::size_t kLargestLevel = 30;

/// Groups consecutive items into about sqrt(n) groups of about sqrt(n) items. Returns the first item of each
/// group.
std::vector<std::size_t> group_starts(std::size_t count) {
    const auto size = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < count; i += size) starts.push_back(i);
    return starts;
}

class Decomposition {
  public:
    explicit Decomposition(const Graph& graph)
        : graph_(graph), producer_(producers(graph)), block_of_(graph.ops.size()) {}

    IdVector<BlockId, Block> run() {
        dissolve_single_ops();
        const BlockId forward = phase_tree(Phase::forward);
        phase_tree(Phase::loss);
        const BlockId backward = phase_tree(Phase::backward);
        phase_tree(Phase::optimizer);
        if (forward.valid() && backward.valid()) make_twins(forward, backward);
        const std::size_t from_paths = blocks_.size();
        for (std::size_t i = 0; i < from_paths; ++i) cut_by_structure(BlockId(static_cast<std::int64_t>(i)));
        find_repeats();
        return std::move(blocks_);
    }

    IdVector<BlockId, Block> run(const TrainingTree& tree) {
        for (std::size_t i = 0; i < graph_.ops.size(); ++i) path_of_.push_back({});
        std::vector<BlockId> ours, theirs;  // per block of the tree: its forward block (ours) and its
                                            // backward block (theirs), which is invalid if there are no
                                            // backward ops
        for (std::size_t b = 0; b < tree.blocks.size(); ++b) {
            const TrainingBlock& block = tree.blocks[b];
            ours.push_back(b == 0 ? root(Phase::forward) : part_of(ours[block.parent], b));
            if (!has_backward(block))
                theirs.emplace_back();
            else
                theirs.push_back(b == 0 ? root(Phase::backward) : part_of(theirs[block.parent], b));
            if (theirs[b].valid()) {
                blocks_[ours[b]].twin = theirs[b];
                blocks_[theirs[b]].twin = ours[b];
            }
            if (!block.children.empty()) continue;
            for (int at = block.begin; at < block.end; ++at) place(OpId(tree.forward[at]), ours[b]);
            for (const int op : block.backward)
                if (graph_.ops[OpId(op)].phase == Phase::backward) place(OpId(op), theirs[b]);
        }
        for (OpId op : graph_.ops.ids())
            if (!block_of_[op].valid()) place(op, root(graph_.ops[op].phase));
        for (std::size_t b = 0; b < tree.blocks.size(); ++b) {
            if (b > 0) name_by_content(ours[b]);
            if (theirs[b].valid()) order_children(theirs[b]);
            for (const BlockId id : {ours[b], theirs[b]})
                if (id.valid()) std::sort(blocks_[id].ops.begin(), blocks_[id].ops.end());
        }
        find_repeats();
        return std::move(blocks_);
    }

  private:
    bool has_backward(const TrainingBlock& block) const {
        return std::any_of(block.backward.begin(), block.backward.end(),
                           [&](int op) { return graph_.ops[OpId(op)].phase == Phase::backward; });
    }

    /// Returns the root of a phase, which is made if it is missing.
    BlockId root(Phase phase) {
        for (BlockId id : blocks_.ids())
            if (!blocks_[id].parent.valid() && blocks_[id].name == to_string(phase)) return id;
        return add(BlockId(), std::string(to_string(phase)), std::string(to_string(phase)));
    }

    BlockId part_of(BlockId parent, std::size_t number) {
        const std::string name = "part" + std::to_string(number);
        return add(parent, name, blocks_[parent].path + "." + name);
    }

    BlockId add(BlockId parent, std::string name, std::string path) {
        Block block;
        block.name = std::move(name);
        block.path = std::move(path);
        block.parent = parent;
        const BlockId id = blocks_.push_back(std::move(block));
        if (parent.valid()) blocks_[parent].children.push_back(id);
        return id;
    }

    void place(OpId op, BlockId block) {
        blocks_[block].ops.push_back(op);
        block_of_[op] = block;
    }

    /// Returns the block for a module path below `root`. The block is made if it is missing.
    BlockId block_at(BlockId root, const std::string& path, std::unordered_map<std::string, BlockId>& known) {
        if (path.empty()) return root;
        if (const auto found = known.find(path); found != known.end()) return found->second;
        const std::size_t dot = path.rfind('.');
        const BlockId parent = dot == std::string::npos ? root : block_at(root, path.substr(0, dot), known);
        const BlockId id = add(parent, dot == std::string::npos ? path : path.substr(dot + 1), path);
        known.emplace(path, id);
        return id;
    }

    static std::string parent_path(const std::string& path) {
        const std::size_t dot = path.rfind('.');
        return dot == std::string::npos ? "" : path.substr(0, dot);
    }

    /// If more than `kLargestLevel` children of a module have only one forward op each, moves these ops to
    /// the module. The names of such children say no more than the names of their ops.
    void dissolve_single_ops() {
        std::unordered_map<std::string, int> ops_of, inner;
        for (const Op& op : graph_.ops) {
            if (op.phase == Phase::forward) ++ops_of[op.module];
            for (std::string path = op.module; !path.empty(); path = parent_path(path))
                inner[parent_path(path)] += path != op.module;
        }
        std::unordered_map<std::string, int> single_children;
        const auto single = [&](const std::string& path) {
            return !path.empty() && ops_of[path] <= 1 && inner[path] == 0;
        };
        for (const Op& op : graph_.ops) {
            if (op.phase == Phase::forward && single(op.module)) ++single_children[parent_path(op.module)];
        }
        for (OpId id : graph_.ops.ids()) {
            const std::string& path = graph_.ops[id].module;
            const bool dissolved =
                single(path) && single_children[parent_path(path)] > static_cast<int>(kLargestLevel);
            path_of_.push_back(dissolved ? parent_path(path) : path);
        }
    }

    BlockId phase_tree(Phase phase) {
        BlockId root;
        std::unordered_map<std::string, BlockId> known;
        for (OpId op : graph_.ops.ids()) {
            if (graph_.ops[op].phase != phase) continue;
            if (!root.valid())
                root = add(BlockId(), std::string(to_string(phase)), std::string(to_string(phase)));
            place(op, block_at(root, path_of_[op], known));
        }
        return root;
    }

    void make_twins(BlockId forward, BlockId backward) {
        blocks_[forward].twin = backward;
        blocks_[backward].twin = forward;
        for (BlockId theirs : blocks_[backward].children) {
            for (BlockId ours : blocks_[forward].children) {
                if (blocks_[ours].name == blocks_[theirs].name) make_twins(ours, theirs);
            }
        }
    }

    /// Divides a large flat level of forward ops into children, and its twin into matching children.
    void cut_by_structure(BlockId id) {
        const std::vector<OpId> ops = blocks_[id].ops;
        if (ops.size() <= kLargestLevel || graph_.ops[ops.front()].phase != Phase::forward) return;
        std::vector<std::size_t> starts = articulation_starts(ops);
        if (starts.size() < 2) starts = group_starts(ops.size());
        blocks_[id].ops.clear();
        std::vector<BlockId> parts;
        if (starts.size() > kLargestLevel) {
            const std::vector<std::size_t> groups = group_starts(starts.size());
            for (std::size_t g = 0; g < groups.size(); ++g) {
                const BlockId group = add_part(id, g);
                const std::size_t end = g + 1 < groups.size() ? groups[g + 1] : starts.size();
                for (std::size_t s = groups[g]; s < end; ++s) parts.push_back(add_part(group, s - groups[g]));
            }
        } else {
            for (std::size_t s = 0; s < starts.size(); ++s) parts.push_back(add_part(id, s));
        }
        for (std::size_t s = 0, i = 0; s < starts.size(); ++s) {
            const std::size_t end = s + 1 < starts.size() ? starts[s + 1] : ops.size();
            for (; i < end; ++i) place(ops[i], parts[s]);
        }
        for (BlockId part : parts) name_by_content(part);
        for (BlockId child : blocks_[id].children) name_by_content(child);
        if (blocks_[id].twin.valid()) cut_twin(blocks_[id].twin, parts);
    }

    /// Names a part by the common beginning of its ops' modules; if there is none, by the first and the last
    /// of these modules. The twin gets the same name. Does nothing if the ops have no modules, or if they are
    /// placed by their own module (`path_of_`).
    void name_by_content(BlockId id) {
        const std::vector<OpId> ops = all_ops(id);
        const std::string& first = graph_.ops[ops.front()].module;
        const std::string& last = graph_.ops[ops.back()].module;
        if (first.empty() || last.empty() || first == path_of_[ops.front()]) return;
        std::string shared = first;
        for (OpId op : ops) {
            const std::string& module = graph_.ops[op].module;
            const auto differ =
                std::mismatch(shared.begin(), shared.end(), module.begin(), module.end()).first;
            shared.erase(differ, shared.end());
        }
        // Only whole words count: conv2_block1_1 and conv2_block1_2 have conv2_block1 in common.
        constexpr std::string_view between_words = "._-";
        if (shared.size() < first.size() && between_words.find(first[shared.size()]) == std::string::npos)
            shared.erase(shared.find_last_of("._-") == std::string::npos ? 0 : shared.find_last_of("._-"));
        std::string& name = blocks_[id].name;
        name = ops.size() == 1 ? first : shared.size() > 2 ? shared : first + " .. " + last;
        if (blocks_[id].twin.valid()) blocks_[blocks_[id].twin].name = name;
    }

    BlockId add_part(BlockId parent, std::size_t index) {
        const std::string name = "part" + std::to_string(index);
        const BlockId id = add(parent, name, blocks_[parent].path + "." + name);
        if (blocks_[parent].twin.valid()) {
            const BlockId twin =
                add(blocks_[parent].twin, name, blocks_[blocks_[parent].twin].path + "." + name);
            blocks_[id].twin = twin;
            blocks_[twin].twin = id;
        }
        return id;
    }

    /// Puts each backward op into the twin of the part that has the op's forward op (`Op::of`). If `of` is
    /// not set, the latest forward op from which the op reads counts as its forward op. If there is no such
    /// part, the op goes where the backward op before it went.
    void cut_twin(BlockId twin, const std::vector<BlockId>& parts) {
        const std::vector<OpId> ops = std::move(blocks_[twin].ops);
        blocks_[twin].ops.clear();
        BlockId target = blocks_[parts.back()].twin;
        for (OpId op : ops) {
            OpId source;
            if (graph_.ops[op].of) source = *graph_.ops[op].of;
            for (TensorId t : graph_.ops[op].inputs) {
                if (graph_.ops[op].of || !producer_[t].valid()) continue;
                if (graph_.ops[producer_[t]].phase == Phase::forward) source = std::max(source, producer_[t]);
            }
            if (source.valid() && std::find(parts.begin(), parts.end(), block_of_[source]) != parts.end()) {
                target = blocks_[block_of_[source]].twin;
            }
            place(op, target);
        }
        // Sorts children by their first op; the parts were made in forward order.
        order_children(twin);
        for (BlockId child : blocks_[twin].children) order_children(child);
    }

    OpId first_op(BlockId id) const {
        OpId first = blocks_[id].ops.empty() ? OpId(INT32_MAX) : blocks_[id].ops.front();
        for (BlockId child : blocks_[id].children) first = std::min(first, first_op(child));
        return first;
    }

    void order_children(BlockId id) {
        std::vector<BlockId>& children = blocks_[id].children;
        std::stable_sort(children.begin(), children.end(),
                         [&](BlockId a, BlockId b) { return first_op(a) < first_op(b); });
    }

    /// Returns the indices at which parts begin: 0, and each index at which at most one tensor of the level
    /// is alive, so that the whole data flow passes through this tensor.
    std::vector<std::size_t> articulation_starts(const std::vector<OpId>& ops) const {
        std::unordered_map<OpId, std::size_t> position;
        for (std::size_t i = 0; i < ops.size(); ++i) position[ops[i]] = i;
        std::unordered_map<TensorId, std::size_t> last_use;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            for (TensorId t : graph_.ops[ops[i]].inputs) last_use[t] = i;
        }
        std::vector<int> alive_change(ops.size() + 1, 0);
        for (const auto& [t, last] : last_use) {
            const auto made = producer_[t].valid() ? position.find(producer_[t]) : position.end();
            if (made == position.end()) continue;
            ++alive_change[made->second];
            --alive_change[last];
        }
        std::vector<std::size_t> starts{0};
        int alive = 0;
        for (std::size_t i = 0; i + 1 < ops.size(); ++i) {
            alive += alive_change[i];
            if (alive <= 1) starts.push_back(i + 1);
        }
        return starts;
    }

    /// Returns the ops of the block and of all blocks below it, ascending.
    std::vector<OpId> all_ops(BlockId id) const {
        std::vector<OpId> ops = blocks_[id].ops;
        for (BlockId child : blocks_[id].children) {
            const std::vector<OpId> below = all_ops(child);
            ops.insert(ops.end(), below.begin(), below.end());
        }
        std::sort(ops.begin(), ops.end());
        return ops;
    }

    /// Returns the shape of the tree below a block. A block and its only child have different shapes.
    std::string tree_shape(BlockId id) const {
        std::string shape = "(" + std::to_string(blocks_[id].ops.size());
        for (BlockId child : blocks_[id].children) shape += tree_shape(child);
        return shape + ")";
    }

    /// Returns a text that lists the ops, bytes, workspaces and edges of the block. The texts of equal blocks
    /// are equal, because a text numbers the tensors in the order of their first use.
    std::string signature(BlockId id) const {
        std::string text = tree_shape(id);
        std::unordered_map<TensorId, std::size_t> number;
        const auto refer = [&](TensorId t) {
            const auto [at, fresh] = number.emplace(t, number.size());
            text += " " + std::to_string(at->second);
            if (fresh)
                text += ":" + std::to_string(graph_.tensors[t].bytes.value) +
                        std::string(to_string(graph_.tensors[t].kind));
        };
        for (OpId op : all_ops(id)) {
            const Op& o = graph_.ops[op];
            text +=
                ";" + o.name + " w" + std::to_string(o.workspace.value) + (o.recomputable ? "" : "!") + " <";
            for (TensorId t : o.inputs) refer(t);
            text += " >";
            for (TensorId t : o.outputs) refer(t);
        }
        return text;
    }

    void find_repeats() {
        std::map<std::string, std::vector<BlockId>> equal;
        for (BlockId id : blocks_.ids()) equal[signature(id)].push_back(id);
        std::vector<const std::vector<BlockId>*> classes;
        for (const auto& [text, members] : equal) {
            if (members.size() > 1) classes.push_back(&members);
        }
        std::sort(classes.begin(), classes.end(), [](auto* a, auto* b) { return a->front() < b->front(); });
        for (std::size_t c = 0; c < classes.size(); ++c) {
            for (BlockId id : *classes[c]) blocks_[id].repeat_class = static_cast<int>(c);
        }
    }

    const Graph& graph_;
    IdVector<TensorId, OpId> producer_;
    IdVector<OpId, BlockId> block_of_;
    IdVector<OpId, std::string> path_of_;  ///< the module path by which each op is placed
    IdVector<BlockId, Block> blocks_;
};

}  // namespace

IdVector<BlockId, Block> decompose(const Graph& graph, const PartitionOptions& options) {
    return Decomposition(graph).run(training_tree(graph, flatten(graph), options));
}

IdVector<BlockId, Block> decompose(const Graph& graph) {
    if (!graph.blocks.empty()) return graph.blocks;
    return Decomposition(graph).run();
}

}  // namespace rematlas
