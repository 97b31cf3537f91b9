#include "core/solvers/selective/save_items.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/solvers/selective/save_search.h"

namespace rematlas {
namespace {

constexpr double kSteepness = 12;  // one `raise` makes full moments e^12 times as expensive as empty ones

void hold_until_again(const FlatGraph& flat, const CheckpointedStep& base, std::int32_t t, SaveItem& item) {
    if (base.made_again[t] < 0 || base.dies[t] >= base.made_again[t]) return;
    item.held.push_back({base.dies[t] + 1, base.made_again[t], flat.bytes[t]});
}

}  // namespace

std::vector<SaveItem> items_to_save(const Graph& graph, const FlatGraph& flat,
                                    const std::vector<Region>& regions, std::span<const int> chosen,
                                    const CheckpointedStep& base, bool by_selectors) {
    const std::vector<std::uint8_t> savable = savable_ops(graph, flat);
    std::map<std::string, SaveItem> groups;
    std::map<std::string, bool> all_savable;
    std::vector<SaveItem> items;
    for (const int region : chosen) {
        for (int i = 0; i < regions[region].rerun; ++i) {
            const std::int32_t op = regions[region].ops[i];
            const std::string group = by_selectors ? selector_of(graph.ops[OpId(op)]) : "";
            if (by_selectors) all_savable.try_emplace(group, true).first->second &= savable[op] != 0;
            if (!savable[op]) continue;
            SaveItem item{.ops = {op}, .region = region, .time = flat.time[op]};
            for (const std::int32_t t : flat.outputs[op]) hold_until_again(flat, base, t, item);
            if (!by_selectors) {
                items.push_back(std::move(item));
                continue;
            }
            SaveItem& of_group = groups[group];
            of_group.ops.push_back(op);
            of_group.time += item.time;
            of_group.held.insert(of_group.held.end(), item.held.begin(), item.held.end());
        }
    }
    for (auto& [group, item] : groups)
        if (all_savable[group]) items.push_back(std::move(item));
    return items;
}

std::vector<SaveItem> items_to_leave(const FlatGraph& flat, const std::vector<Region>& regions,
                                     std::span<const int> chosen, const CheckpointedStep& base) {
    std::vector<SaveItem> items;
    for (const int region : chosen) {
        SaveItem item{.region = region};
        for (int i = 0; i < regions[region].rerun; ++i) {
            const std::int32_t op = regions[region].ops[i];
            if (!only_counts(flat, op)) item.time += flat.time[op];
            for (const std::int32_t t : flat.outputs[op])
                if (base.read_again[t] >= 0) hold_until_again(flat, base, t, item);
        }
        items.push_back(std::move(item));
    }
    return items;
}

bool MomentRoom::take(const SaveItem& item) {
    for (std::size_t i = 0; i < item.held.size(); ++i) {
        const HeldBytes& held = item.held[i];
        bool fits = true;
        for (std::int32_t at = held.begin; at < held.end; ++at) {
            used_[at] += held.bytes;
            fits = fits && used_[at] <= budget_;
        }
        if (fits) continue;
        for (std::size_t taken = 0; taken <= i; ++taken)
            for (std::int32_t at = item.held[taken].begin; at < item.held[taken].end; ++at)
                used_[at] -= item.held[taken].bytes;
        return false;
    }
    return true;
}

double Prices::of(const SaveItem& item) const {
    double price = 0;
    for (const HeldBytes& held : item.held)
        price += static_cast<double>(held.bytes) * (sum_[held.end] - sum_[held.begin]);
    return price;
}

void Prices::raise(std::span<const std::int64_t> used) {
    const auto most = static_cast<double>(std::max<std::int64_t>(1, std::ranges::max(used)));
    for (std::size_t at = 0; at < used.size(); ++at)
        weight_[at] *= std::exp(kSteepness * (static_cast<double>(used[at]) / most - 1));
    settle();
}

void Prices::settle() {
    double all = 0;
    for (const double weight : weight_) all += weight;
    for (std::size_t at = 0; at < weight_.size(); ++at) {
        weight_[at] /= all;
        sum_[at + 1] = sum_[at] + weight_[at];
    }
}

}  // namespace rematlas
