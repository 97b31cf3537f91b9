#include "viz/paint/module_groups.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <memory>

namespace rematlas {

namespace {

constexpr double kTiny = 0.02;  ///< share of the whole weight; a smaller module does not become a part of its
                                ///< own

struct ModuleNode {
    std::string name;  ///< module path from the root, without numbers
    std::int64_t weight = 0;
    ModuleNode* parent = nullptr;
    bool is_part = false;
    std::map<std::string, std::unique_ptr<ModuleNode>, std::less<>> inner;

    ModuleNode& at(const std::string& part) {
        std::unique_ptr<ModuleNode>& node = inner[part];
        if (!node) {
            node = std::make_unique<ModuleNode>();
            node->name = name.empty() ? part : name + "." + part;
            node->parent = this;
        }
        return *node;
    }
};

/// Returns for each forward op the bytes that it makes for the loss and the backward pass. If no op makes
/// such bytes, returns for each op all bytes that it makes.
IdVector<OpId, std::int64_t> weights_of(const Graph& graph) {
    IdVector<OpId, std::int64_t> weights(graph.ops.size(), 0), made(graph.ops.size(), 0);
    const IdVector<TensorId, OpId> producer = producers(graph);
    IdVector<TensorId, char> counted(graph.tensors.size(), 0);
    std::int64_t sum = 0;
    for (const OpId reader : graph.ops.ids()) {
        for (const TensorId tensor : graph.ops[reader].inputs) {
            const OpId maker = producer[tensor];
            if (!maker.valid() || counted[tensor]) continue;
            const bool is_read_later =
                graph.ops[reader].phase == Phase::backward || graph.ops[reader].phase == Phase::loss;
            if (graph.ops[maker].phase != Phase::forward || !is_read_later) continue;
            counted[tensor] = 1;
            weights[maker] += graph.tensors[tensor].bytes.value;
            sum += graph.tensors[tensor].bytes.value;
        }
        for (const TensorId tensor : graph.ops[reader].outputs)
            made[reader] += graph.tensors[tensor].bytes.value;
    }
    return sum > 0 ? weights : made;
}

/// Returns the modules inside `node` that are heavy enough to become parts of their own.
std::vector<ModuleNode*> heavy_inside(const ModuleNode& node, std::int64_t whole) {
    std::vector<ModuleNode*> heavy;
    for (const auto& [name, inner] : node.inner)
        if (static_cast<double>(inner->weight) >= kTiny * static_cast<double>(whole) && inner->weight > 0)
            heavy.push_back(inner.get());
    return heavy;
}

/// Makes the modules inside a node separate parts. The node stays a part if it weighs more than these modules
/// together, unless it is the root.
void split(ModuleNode& node, const std::vector<ModuleNode*>& inside) {
    std::int64_t rest = node.weight;
    for (ModuleNode* inner : inside) {
        inner->is_part = true;
        rest -= inner->weight;
    }
    node.is_part = rest > 0 && node.parent != nullptr;
}

void collect_parts(ModuleNode& node, std::vector<ModuleNode*>& parts) {
    if (node.is_part) parts.push_back(&node);
    for (const auto& [name, inner] : node.inner) collect_parts(*inner, parts);
}

/// Splits the model into parts, the heaviest parts first, as long as there are at most `most` parts.
std::vector<ModuleNode*> split_up(ModuleNode& root, std::size_t most) {
    std::vector<ModuleNode*> parts, done;
    std::vector<ModuleNode*> heaviest = heavy_inside(root, root.weight);
    std::stable_sort(heaviest.begin(), heaviest.end(),
                     [](const ModuleNode* a, const ModuleNode* b) { return a->weight > b->weight; });
    if (heaviest.size() > most) heaviest.resize(most);
    split(root, heaviest);
    for (;;) {
        parts.clear();
        collect_parts(root, parts);
        std::sort(parts.begin(), parts.end(), [](const ModuleNode* a, const ModuleNode* b) {
            return a->weight != b->weight ? a->weight > b->weight : a->name < b->name;
        });
        bool grew = false;
        for (ModuleNode* part : parts) {
            const std::vector<ModuleNode*> inside = heavy_inside(*part, root.weight);
            const bool was_split = std::find(done.begin(), done.end(), part) != done.end();
            if (inside.empty() || was_split || parts.size() + inside.size() > most) continue;
            done.push_back(part);
            split(*part, inside);
            grew = true;
            break;
        }
        if (!grew) return parts;
    }
}

/// Returns "conv*_block*" for "conv2_block11".
std::string without_numbers(std::string_view module) {
    std::string name;
    for (const char c : module) {
        const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
        if (!digit) name += c;
        if (digit && !name.ends_with('*')) name += '*';
    }
    return name;
}

}  // namespace

std::string module_class(std::string_view module) {
    std::string name;
    for (std::size_t begin = 0; begin <= module.size();) {
        const std::size_t end = std::min(module.find('.', begin), module.size());
        const std::string_view part = module.substr(begin, end - begin);
        const bool number = !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
            return std::isdigit(static_cast<unsigned char>(c)) != 0;
        });
        if (begin > 0) name += '.';
        name += number ? "*" : part;
        begin = end + 1;
    }
    return name;
}

namespace {

/// The modules of a graph as a tree, and the node of each op.
struct ModuleTree {
    ModuleNode root;
    IdVector<OpId, ModuleNode*> node_of;

    ModuleTree(const Graph& graph, const IdVector<OpId, std::int64_t>& weights, bool any_number)
        : node_of(graph.ops.size(), &root) {
        for (const OpId op : graph.ops.ids()) {
            const std::string& module = graph.ops[op].module;
            node_of[op] = &add(any_number ? without_numbers(module) : module_class(module), weights[op]);
        }
    }

  private:
    ModuleNode& add(const std::string& path, std::int64_t weight) {
        ModuleNode* node = &root;
        root.weight += weight;
        for (std::size_t begin = 0; begin < path.size();) {
            const std::size_t end = std::min(path.find('.', begin), path.size());
            node = &node->at(path.substr(begin, end - begin));
            node->weight += weight;
            begin = end + 1;
        }
        return *node;
    }
};

/// Kinds of ops that belong to no part of the model.
enum class Rest : std::uint8_t { loss, optimizer, other };
constexpr std::array<const char*, 3> kRestNames = {"loss", "optimizer", "other"};

Rest rest_of(const Graph& graph, OpId id) {
    const Op& op = graph.ops[id];
    if (op.phase == Phase::optimizer) return Rest::optimizer;
    const bool of_loss = op.phase == Phase::loss || (op.of && graph.ops[*op.of].phase == Phase::loss);
    return of_loss ? Rest::loss : Rest::other;
}

/// Appends a part for each kind of ops that are in no part so far.
void add_rest(const Graph& graph, ModuleGroups& groups) {
    for (const Rest kind : {Rest::loss, Rest::optimizer, Rest::other}) {
        const int part = static_cast<int>(groups.names.size());
        bool is_any = false;
        for (const OpId op : graph.ops.ids())
            if (groups.of[op] < 0 && rest_of(graph, op) == kind) {
                groups.of[op] = part;
                is_any = true;
            }
        if (is_any) groups.names.emplace_back(kRestNames[static_cast<std::size_t>(kind)]);
    }
}

}  // namespace

ModuleGroups module_groups(const Graph& graph, std::size_t most) {
    const IdVector<OpId, std::int64_t> weights = weights_of(graph);
    auto tree = std::make_unique<ModuleTree>(graph, weights, false);
    // If there are too many heavy modules, names are perhaps flat, such as "conv2_block1_0_conv". Then the
    // tree is made again without the numbers inside names.
    if (heavy_inside(tree->root, tree->root.weight).size() > most)
        tree = std::make_unique<ModuleTree>(graph, weights, true);
    ModuleGroups groups;
    std::map<const ModuleNode*, int> index;
    for (const ModuleNode* part : split_up(tree->root, most)) {
        index[part] = static_cast<int>(groups.names.size());
        groups.names.push_back(part->name);
    }
    groups.of.resize(graph.ops.size());
    for (const OpId op : graph.ops.ids()) {
        const ModuleNode* node = tree->node_of[op];
        while (node && !node->is_part) node = node->parent;
        groups.of[op] = node ? index.at(node) : -1;
    }
    add_rest(graph, groups);
    return groups;
}

}  // namespace rematlas
