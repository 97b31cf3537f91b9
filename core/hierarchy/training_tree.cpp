#include "core/hierarchy/training_tree.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

namespace rematlas {
namespace {

constexpr std::string_view kPartitionNames[] = {"articulation", "bottom-up", "modules", "repeats"};

/// An interval of the forward ops, with nested items.
struct Item {
    int begin = 0, end = 0;
    std::vector<Item> inner{};  ///< empty: the item holds its ops directly
};
using Items = std::vector<Item>;

class TreeBuilder {
  public:
    TreeBuilder(const Graph& graph, const FlatGraph& flat, const PartitionOptions& options)
        : graph_(graph), flat_(flat), options_(options), position_(flat.op_count, -1) {}

    TrainingTree build() {
        find_forward_part();
        const int count = static_cast<int>(tree_.forward.size());
        Item root{0, count};
        if (count > options_.most_items || options_.by == Partition::articulation)
            root.inner = partition(0, count);
        if (root.inner.size() == 1) root.inner.clear();
        add_block(root, -1);
        assign_backward();
        return std::move(tree_);
    }

  private:
    void find_forward_part() {
        for (int op = 0; op < flat_.op_count; ++op) {
            if (!flat_.required[op] || graph_.ops[OpId(op)].phase != Phase::forward) continue;
            const auto inputs = flat_.inputs[op];
            if (!std::all_of(inputs.begin(), inputs.end(), [&](int t) { return made_at(t) >= 0; })) continue;
            position_[op] = static_cast<int>(tree_.forward.size());
            tree_.forward.push_back(op);
        }
    }

    /// Returns where in the forward part the tensor's maker is; -1 if the maker is not in the forward part.
    int made_at(int tensor) const { return position_[flat_.producer[tensor]]; }
    int last_read_at(int tensor) const {
        int last = -1;
        for (const int user : flat_.users[tensor]) last = std::max(last, position_[user]);
        return last;
    }
    const std::string& module_at(int place) const { return graph_.ops[OpId(tree_.forward[place])].module; }

    Items partition(int begin, int end) {
        switch (options_.by) {
            case Partition::articulation:
                return sequence(begin, end);
            case Partition::bottom_up:
                return gathered(ops(begin, end));
            case Partition::modules:
                return by_modules(begin, end, 0);
            case Partition::repeats:
                return by_repeats(begin, end);
        }
        return {};
    }

    static Items ops(int begin, int end) {
        Items items;
        for (int i = begin; i < end; ++i) items.push_back({i, i + 1});
        return items;
    }

    /// Returns an item without inner items if it has few ops; otherwise `inside` makes the inner items.
    Item block(int begin, int end, const std::function<Items()>& inside) {
        Item item{begin, end};
        if (end - begin > options_.most_items) item.inner = inside();
        return item;
    }

    // Bottom-up ---------------------------------------------------------------------------------------------

    /// Returns the bytes that cross the ends of an interval: tensors that its ops read from earlier forward
    /// ops, and tensors that its ops make for later forward ops.
    double interface_bytes(int begin, int end) const {
        std::set<int> crossing;
        for (int i = begin; i < end; ++i) {
            for (const int t : flat_.inputs[tree_.forward[i]])
                if (made_at(t) < begin) crossing.insert(t);
            for (const int t : flat_.outputs[tree_.forward[i]])
                if (last_read_at(t) >= end) crossing.insert(t);
        }
        double bytes = 0;
        for (const int t : crossing) bytes += static_cast<double>(flat_.bytes[t]);
        return bytes;
    }

    /// Merges neighbouring items into groups of at most `most_items` items, until no two neighbouring groups
    /// can be merged. Repeats this with the groups as items, until at most `most_items` items are left or
    /// nothing can be merged any more.
    Items gathered(Items items) {
        while (static_cast<int>(items.size()) > options_.most_items) {
            Items merged = merge_neighbours(items);
            if (merged.size() == items.size()) return merged;
            items = std::move(merged);
        }
        return items;
    }

    Items merge_neighbours(const Items& items) {
        struct Group {
            int first, count, next, previous;
        };
        const int n = static_cast<int>(items.size());
        std::vector<Group> groups;
        for (int i = 0; i < n; ++i) groups.push_back({i, 1, i + 1, i - 1});
        // The cheapest merge comes first. A merge is out of date if the counts of its groups have changed.
        struct Merge {
            double cost;
            int left, right, left_count, right_count;
            bool operator<(const Merge& o) const { return std::tie(cost, left) < std::tie(o.cost, o.left); }
        };
        std::multiset<Merge> merges;
        const auto offer = [&](int left) {
            if (left < 0 || groups[left].next >= n) return;
            const Group &a = groups[left], &b = groups[a.next];
            if (a.count + b.count > options_.most_items) return;
            const int begin = items[a.first].begin, end = items[b.first + b.count - 1].end;
            const double size = std::pow(end - begin, options_.size_power);
            merges.insert({interface_bytes(begin, end) * size, left, a.next, a.count, b.count});
        };
        for (int i = 0; i + 1 < n; ++i) offer(i);
        while (!merges.empty()) {
            const Merge merge = *merges.begin();
            merges.erase(merges.begin());
            Group &a = groups[merge.left], &b = groups[merge.right];
            if (a.count != merge.left_count || b.count != merge.right_count || a.next != merge.right)
                continue;
            a.count += b.count;
            a.next = b.next;
            b.count = 0;
            if (a.next < n) groups[a.next].previous = merge.left;
            offer(merge.left);
            offer(a.previous);
        }
        Items merged;
        for (int i = 0; i < n; i = groups[i].next) {
            const int last = i + groups[i].count - 1;
            merged.push_back(groups[i].count == 1 ? items[i] : Item{items[i].begin, items[last].end});
            if (groups[i].count > 1 && items[last].end - items[i].begin > options_.most_items)
                merged.back().inner.assign(items.begin() + i, items.begin() + last + 1);
        }
        return merged;
    }

    // Articulation ------------------------------------------------------------------------------------------

    /// Cuts at points that at most one tensor crosses. A point that only the tensor of the previous cut
    /// crosses is not cut.
    Items sequence(int begin, int end) {
        std::vector<int> crossing(end - begin + 1, 0);
        std::vector<std::int64_t> sum(end - begin + 1, 0);  // sum of the ids of crossing tensors; if only one
                                                            // tensor crosses, its id
        for (int i = begin; i < end; ++i) {
            for (const int t : flat_.outputs[tree_.forward[i]]) {
                const int last = std::min(last_read_at(t), end - 1);
                if (last <= i) continue;
                ++crossing[i - begin];
                --crossing[last - begin];
                sum[i - begin] += t;
                sum[last - begin] -= t;
            }
        }
        Items items;
        std::int64_t tensor = 0, boundary = -1;
        for (int i = begin, count = 0, start = begin; i < end; ++i) {
            count += crossing[i - begin];
            tensor += sum[i - begin];
            const bool is_last = i + 1 == end;
            if (!is_last && (count > 1 || (count == 1 && tensor == boundary))) continue;
            boundary = count == 1 ? tensor : -1;
            const int from = start;
            items.push_back(block(from, i + 1, [&] { return gathered(ops(from, i + 1)); }));
            start = i + 1;
        }
        if (items.size() == 1) return gathered(ops(begin, end));
        return options_.nest_sequences ? gathered(std::move(items)) : items;
    }

    // Modules -----------------------------------------------------------------------------------------------

    /// Returns the first `depth` words of a module path.
    static std::string_view words(std::string_view path, int depth) {
        std::size_t end = 0;
        for (; depth > 0 && end != std::string_view::npos; --depth) end = path.find('.', end + (end > 0));
        return path.substr(0, end);
    }

    Items by_modules(int begin, int end, int depth) {
        Items items;
        bool deeper = false;
        for (int i = begin; i < end;) {
            const std::string_view name = words(module_at(i), depth + 1);
            int next = i + 1;
            while (next < end && words(module_at(next), depth + 1) == name) ++next;
            deeper = deeper || name.size() > words(module_at(i), depth).size();
            items.push_back({i, next});
            i = next;
        }
        if (!deeper) return gathered(ops(begin, end));
        if (items.size() == 1) return by_modules(begin, end, depth + 1);
        for (Item& item : items)
            item = block(item.begin, item.end, [&] { return by_modules(item.begin, item.end, depth + 1); });
        return gathered(std::move(items));
    }

    // Repeats -----------------------------------------------------------------------------------------------

    /// Returns a hash per op. The hashes are equal for ops that do the same at the same place of a repeated
    /// pattern.
    std::vector<std::size_t> tokens(int begin, int end) const {
        std::vector<std::size_t> tokens;
        for (int i = begin; i < end; ++i) {
            const int op = tree_.forward[i];
            std::string text = graph_.ops[OpId(op)].name + " " + std::to_string(flat_.workspace[op]);
            for (const int t : flat_.inputs[op]) text += " <" + std::to_string(i - made_at(t));
            for (const int t : flat_.outputs[op]) text += " >" + std::to_string(flat_.bytes[t]);
            tokens.push_back(std::hash<std::string>()(text));
        }
        return tokens;
    }

    struct Repeat {
        int start = 0, period = 0, count = 0;
        int covered() const { return period * count; }
    };

    /// Considers the patterns of two or more ops that occur at least twice in a row. Returns the pattern that
    /// covers the most ops in this way; if several do, the shortest of them.
    static Repeat longest_repeat(const std::vector<std::size_t>& tokens) {
        const int n = static_cast<int>(tokens.size());
        Repeat best;
        for (int period = 2; 2 * period <= n; ++period) {
            for (int i = 0, equal = 0; i + period <= n; ++i) {
                const bool same = i + period < n && tokens[i] == tokens[i + period];
                if (same) ++equal;
                if (same && i + period + 1 < n) continue;
                const Repeat found{i + same - equal, period, equal / period + 1};
                if (found.count > 1 && found.covered() > best.covered()) best = found;
                equal = 0;
            }
        }
        return best;
    }

    Items by_repeats(int begin, int end) {
        const Repeat repeat = longest_repeat(tokens(begin, end));
        if (repeat.covered() < (end - begin) / 4 || repeat.count < 2) return gathered(ops(begin, end));
        const int first = begin + repeat.start, last = first + repeat.covered();
        Items items;
        const auto add = [&](int from, int to) {
            if (from < to) items.push_back(block(from, to, [&] { return by_repeats(from, to); }));
        };
        add(begin, first);
        for (int i = first; i < last; i += repeat.period) add(i, i + repeat.period);
        add(last, end);
        return gathered(std::move(items));
    }

    // The tree ----------------------------------------------------------------------------------------------

    void add_block(const Item& item, int parent) {
        const int id = static_cast<int>(tree_.blocks.size());
        TrainingBlock& block = tree_.blocks.emplace_back();
        block.begin = item.begin;
        block.end = item.end;
        block.parent = parent;
        if (parent >= 0) tree_.blocks[parent].children.push_back(id);
        const bool apart = item.inner.empty() && options_.single_ops && item.end - item.begin > 1;
        const Items inner = apart ? ops(item.begin, item.end) : item.inner;
        for (const Item& one : inner) add_block(one, id);
        if (inner.empty()) bottom_.push_back(id);
    }

    /// Assigns each required op outside the forward part to a bottom block, so that gradients pass only from
    /// later blocks to earlier blocks. `of` holds indices in `bottom_`.
    void assign_backward() {
        std::vector<int> of(flat_.op_count, 0);
        for (std::size_t i = 0; i < bottom_.size(); ++i)
            for (int at = tree_.blocks[bottom_[i]].begin; at < tree_.blocks[bottom_[i]].end; ++at)
                of[tree_.forward[at]] = static_cast<int>(i);
        for (int op = 0; op < flat_.op_count; ++op) {
            if (!flat_.required[op] || position_[op] >= 0) continue;
            of[op] = std::min(latest_for(op, of), wanted_by(op, of));
            for (int id = bottom_[of[op]]; id >= 0; id = tree_.blocks[id].parent)
                tree_.blocks[id].backward.push_back(op);
        }
        tree_.rank.assign(flat_.op_count, -1);
        std::int32_t rank = 0;
        for (const int op : tree_.forward) tree_.rank[op] = rank++;
        for (std::size_t i = bottom_.size(); i-- > 0;)
            for (const int op : tree_.blocks[bottom_[i]].backward) tree_.rank[op] = rank++;
        // From here on the backward ops of a block are in the order in which they run; the backward ops of
        // its last child come first.
        for (TrainingBlock& block : tree_.blocks)
            std::sort(block.backward.begin(), block.backward.end(),
                      [&](int a, int b) { return tree_.rank[a] < tree_.rank[b]; });
    }

    int latest_for(int op, const std::vector<int>& of) const {
        int latest = static_cast<int>(bottom_.size()) - 1;
        for (const int t : flat_.inputs[op])
            if (made_at(t) < 0) latest = std::min(latest, of[flat_.producer[t]]);
        return latest;
    }

    /// Returns the bottom block of a backward op, as an index in `bottom_`. The block follows from the op's
    /// forward op, or else from the forward tensors that the op reads (see `training_tree`). Gradients do not
    /// matter here.
    int wanted_by(int op, const std::vector<int>& of) const {
        const auto& forward_op = graph_.ops[OpId(op)].of;
        if (forward_op && position_[forward_op->value] >= 0) return of[forward_op->value];
        int made = -1, read = static_cast<int>(bottom_.size());
        for (const int t : flat_.inputs[op]) {
            if (made_at(t) < 0) continue;
            made = std::max(made, of[flat_.producer[t]]);
            int last = of[flat_.producer[t]];
            for (const int user : flat_.users[t])
                if (position_[user] >= 0) last = std::max(last, of[user]);
            read = std::min(read, last);
        }
        return std::max(made, read);
    }

    const Graph& graph_;
    const FlatGraph& flat_;
    const PartitionOptions& options_;
    std::vector<int> position_;  ///< per op: its place in the forward part; -1 if it is not in the forward
                                 ///< part
    std::vector<int> bottom_;    ///< ids of the bottom blocks, in order
    TrainingTree tree_;
};

}  // namespace

std::string_view to_string(Partition partition) {
    return kPartitionNames[static_cast<std::size_t>(partition)];
}

std::optional<Partition> partition_from(std::string_view text) {
    for (std::size_t i = 0; i < std::size(kPartitionNames); ++i)
        if (kPartitionNames[i] == text) return static_cast<Partition>(i);
    return std::nullopt;
}

TrainingTree training_tree(const Graph& graph, const FlatGraph& flat, const PartitionOptions& options) {
    return TreeBuilder(graph, flat, options).build();
}

}  // namespace rematlas
