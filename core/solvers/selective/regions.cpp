#include "core/solvers/selective/regions.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace rematlas {
namespace {

constexpr std::size_t kMostOpsOfLayer = 8;  // a simple layer in nn.Sequential, such as dropout, has at most
                                            // this many ops; a block has more

/// "a.b.c" gives "a", "a.b" and "a.b.c".
std::vector<std::string> prefixes(const std::string& path) {
    std::vector<std::string> all;
    for (std::size_t at = path.find('.'); at != std::string::npos; at = path.find('.', at + 1))
        all.push_back(path.substr(0, at));
    if (!path.empty()) all.push_back(path);
    return all;
}

struct Module {
    std::vector<std::int32_t> positions;  ///< positions of the module's ops among the forward ops
    bool has_own_ops = false;
    std::set<std::string> children, grandparents;  ///< `grandparents`: the children that have children
};

class Finder {
  public:
    Finder(const Graph& graph, const FlatGraph& flat) : graph_(graph), flat_(flat) {
        written_over_.assign(flat.tensor_count, 0);
        position_.assign(flat.op_count, -1);
        for (const Op& op : graph.ops)
            for (const InplacePair& pair : op.inplace) written_over_[pair.in.index()] = 1;
        for (int op = 0; op < flat.op_count; ++op) {
            if (graph.ops[OpId(op)].phase != Phase::forward) continue;
            position_[op] = static_cast<std::int32_t>(forward_.size());
            forward_.push_back(op);
        }
        for (std::size_t i = 0; i < forward_.size(); ++i) add(static_cast<std::int32_t>(i));
    }

    std::vector<Region> find() const {
        std::vector<Region> regions;
        for (const auto& [path, module] : modules_)
            if (std::optional<Region> region = region_of(path, module)) regions.push_back(std::move(*region));
        std::sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) {
            return std::pair(a.ops.front(), b.ops.size()) < std::pair(b.ops.front(), a.ops.size());
        });
        return without_copies(std::move(regions));
    }

  private:
    void add(std::int32_t position) {
        const std::vector<std::string> paths = prefixes(graph_.ops[OpId(forward_[position])].module);
        for (std::size_t depth = 0; depth < paths.size(); ++depth) {
            Module& module = modules_[paths[depth]];
            module.positions.push_back(position);
            if (depth + 1 == paths.size()) module.has_own_ops = true;
            if (depth + 1 < paths.size()) module.children.insert(paths[depth + 1]);
            if (depth + 2 < paths.size()) module.grandparents.insert(paths[depth + 1]);
        }
    }

    /// Says whether the module is a list of modules. Such a module is never called itself.
    bool is_list(const std::string& path, const Module& module) const {
        if (module.has_own_ops || module.children.empty()) return false;
        const auto is_large = [&](const std::string& child) {
            return modules_.at(child).positions.size() > kMostOpsOfLayer;
        };
        if (module.grandparents.empty() &&
            std::none_of(module.children.begin(), module.children.end(), is_large))
            return false;
        return std::all_of(module.children.begin(), module.children.end(), [&](const std::string& child) {
            return is_number(std::string_view(child).substr(path.size() + 1));
        });
    }

    /// Says whether the module is called more than once. This is assumed if two of its ops have the same
    /// name and innermost module and read the same parameter.
    bool is_called_again(const Module& module) const {
        std::set<std::pair<std::int32_t, std::string>> read;
        for (const std::int32_t position : module.positions) {
            const Op& op = graph_.ops[OpId(forward_[position])];
            for (const TensorId t : op.inputs)
                if (graph_.tensors[t].kind == TensorKind::parameter &&
                    !read.insert({t.value, op.module + " " + op.name}).second)
                    return true;
        }
        return false;
    }

    std::optional<Region> region_of(const std::string& path, const Module& module) const {
        const std::vector<std::int32_t>& at = module.positions;
        if (at.back() - at.front() + 1 != static_cast<std::int32_t>(at.size()) || is_list(path, module) ||
            is_called_again(module))
            return std::nullopt;
        Region region{.module = path};
        std::set<std::int32_t> inputs;
        for (const std::int32_t position : at) {
            const std::int32_t op = forward_[position];
            if (!flat_.recomputable[op] && !only_counts(flat_, op)) return std::nullopt;
            region.ops.push_back(op);
            for (const std::int32_t t : flat_.inputs[op]) {
                const std::int32_t maker = position_[flat_.producer[t]];
                if (maker < at.front() || maker > at.back()) inputs.insert(t);
            }
        }
        const auto is_lost = [&](std::int32_t t) { return written_over_[t] != 0; };
        if (std::any_of(inputs.begin(), inputs.end(), is_lost)) return std::nullopt;
        region.inputs.assign(inputs.begin(), inputs.end());
        find_backward(at.front(), region);
        if (region.rerun == 0) return std::nullopt;
        return region;
    }

    /// Finds the backward ops that read tensors which the region keeps. Finds how many of the region's ops
    /// must run again for these backward ops.
    void find_backward(std::int32_t begin, Region& region) const {
        const std::int32_t end = begin + static_cast<std::int32_t>(region.ops.size());
        const auto within = [&](std::int32_t position) { return position >= begin && position < end; };
        for (int op = 0; op < flat_.op_count; ++op) {
            if (graph_.ops[OpId(op)].phase != Phase::backward) continue;
            const std::int32_t of = forward_of(graph_, op);
            const std::int32_t own = of >= 0 ? position_[of] : -1;
            int rerun = 0;
            bool keeps = false;
            for (const TensorId t : graph_.ops[OpId(op)].inputs) {
                const std::int32_t maker = flat_.producer[t.index()];
                if (maker >= 0 && position_[maker] < 0) continue;  // the tensor is a gradient
                const bool made_here = maker >= 0 && within(position_[maker]);
                if (!within(own) && (of >= 0 || !made_here)) continue;
                keeps = true;
                if (made_here) rerun = std::max(rerun, position_[maker] - begin + 1);
                // `of` is the forward op of `op`. Autograd saves its inputs before it runs it, so the rerun
                // of the region can stop before it.
                if (within(own)) rerun = std::max(rerun, own - begin);
            }
            if (!keeps) continue;
            region.rerun = std::max(region.rerun, rerun);
            if (region.first_backward < 0) region.first_backward = op;
            region.last_backward = op;
        }
    }

    /// If several modules have the same ops, keeps only the outermost of them. Sets the parents.
    static std::vector<Region> without_copies(std::vector<Region> sorted) {
        std::vector<Region> regions;
        for (Region& region : sorted) {
            if (!regions.empty() && regions.back().ops == region.ops) continue;
            int parent = static_cast<int>(regions.size()) - 1;
            while (parent >= 0 && regions[parent].ops.back() < region.ops.back())
                parent = regions[parent].parent;
            region.parent = parent;
            regions.push_back(std::move(region));
        }
        return regions;
    }

    const Graph& graph_;
    const FlatGraph& flat_;
    std::vector<std::int32_t> forward_, position_;  ///< `position_`: by op, its index in `forward_`, or -1
    std::vector<std::uint8_t> written_over_;
    std::map<std::string, Module> modules_;
};

}  // namespace

std::vector<Region> checkpoint_regions(const Graph& graph, const FlatGraph& flat) {
    return Finder(graph, flat).find();
}

std::vector<std::uint8_t> savable_ops(const Graph& graph, const FlatGraph& flat) {
    std::vector<std::uint8_t> savable(flat.op_count, 0);
    for (int op = 0; op < flat.op_count; ++op) {
        const Op& of = graph.ops[OpId(op)];
        savable[op] = of.phase == Phase::forward && !of.outputs.empty() && !of.random && of.inplace.empty() &&
                      !of.name.ends_with('_');
    }
    for (const Op& op : graph.ops)
        for (const InplacePair& pair : op.inplace)
            if (const std::int32_t maker = flat.producer[pair.in.index()]; maker >= 0) savable[maker] = 0;
    return savable;
}

bool is_number(std::string_view name) {
    const auto is_digit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
    return !name.empty() && std::all_of(name.begin(), name.end(), is_digit);
}

bool only_counts(const FlatGraph& flat, std::int32_t op) {
    return !flat.recomputable[op] && flat.outputs[op].empty();
}

std::int32_t forward_of(const Graph& graph, std::int32_t op) {
    const Op& of = graph.ops[OpId(op)];
    return of.phase == Phase::backward && of.of ? of.of->value : -1;
}

}  // namespace rematlas
