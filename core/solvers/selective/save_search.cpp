#include "core/solvers/selective/save_search.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/solvers/selective/save_items.h"

namespace rematlas {
namespace {

constexpr int kPrices = 6;        // rounds in which prices are raised, for each choice of regions
constexpr int kMostNumbers = 12;  // `leave_some` leaves out no region, then at most this many other counts
constexpr std::int64_t kMostWork = 400'000'000;  // limit of `work_` while regions are varied: some seconds

class Search {
  public:
    Search(const Graph& graph, const FlatGraph& flat, const std::vector<Region>& regions, Bytes budget,
           const SaveClass& of, const Deadline& deadline)
        : graph_(graph),
          flat_(flat),
          regions_(regions),
          budget_(budget.value),
          class_(of),
          deadline_(deadline) {}

    SaveSearchResult find() {
        result_.smallest_peak = offer(nothing_saved({}));
        if (result_.best) return std::move(result_);
        const std::vector<std::vector<int>> few = all_choices();
        if (!few.empty()) {
            for (const std::vector<int>& chosen : few) try_all(chosen);
            return std::move(result_);
        }
        if (class_.by_selectors) {
            fill(layers());
            return std::move(result_);
        }
        for (const std::vector<int>& chosen : levels()) leave_some(chosen);
        while (vary_best()) {
        }
        return std::move(result_);
    }

  private:
    SaveSet nothing_saved(std::vector<int> chosen) const {
        return {.regions = std::move(chosen), .saved = std::vector<std::uint8_t>(flat_.op_count, 0)};
    }

    /// Computes the step with the save set. Keeps the save set if it is the best so far. Returns the peak.
    std::int64_t offer(SaveSet save_set) {
        const CheckpointedStep step = play(graph_, flat_, regions_, save_set);
        result_.smallest_peak = std::min(result_.smallest_peak, step.peak);
        const bool better = !result_.best || std::pair(step.time, step.peak) <
                                                 std::pair(result_.best->time, result_.best->peak);
        if (step.peak <= budget_ && better)
            result_.best = FoundSaveSet{std::move(save_set), step.time, step.peak};
        return step.peak;
    }

    /// Returns a set of regions for each depth of the tree of regions: the roots, the regions right below the
    /// roots, and so on. Regions that contain no others are in all deeper sets, too.
    std::vector<std::vector<int>> levels() const {
        std::vector<int> depth(regions_.size(), 0);
        std::vector<std::uint8_t> is_leaf(regions_.size(), 1);
        for (std::size_t i = 0; i < regions_.size(); ++i) {
            if (regions_[i].parent < 0) continue;
            depth[i] = depth[static_cast<std::size_t>(regions_[i].parent)] + 1;
            is_leaf[static_cast<std::size_t>(regions_[i].parent)] = 0;
        }
        const int deepest = depth.empty() ? -1 : *std::max_element(depth.begin(), depth.end());
        std::vector<std::vector<int>> all;
        for (int level = 0; level <= deepest; ++level) {
            all.emplace_back();
            for (std::size_t i = 0; i < regions_.size(); ++i)
                if (depth[i] == level || (is_leaf[i] && depth[i] < level))
                    all.back().push_back(static_cast<int>(i));
        }
        return all;
    }

    /// Returns the outermost regions whose names are numbers.
    std::vector<int> layers() const {
        std::vector<int> all;
        for (std::size_t i = 0; i < regions_.size(); ++i) {
            const std::string& path = regions_[i].module;
            if (is_number(path.substr(path.rfind('.') + 1)) && !holds(all, static_cast<int>(i)))
                all.push_back(static_cast<int>(i));
        }
        return all;
    }

    /// Returns all sets of regions in which no region contains another one. Returns an empty list if these
    /// sets, with all choices of ops to save in them, are too many to try all.
    std::vector<std::vector<int>> all_choices() const {
        std::vector<std::vector<int>> sets;
        if (class_.by_selectors) {
            sets = {layers()};
        } else {
            sets = {{}};
            for (std::size_t i = 0; i < regions_.size(); ++i) {
                const std::size_t before = sets.size();
                for (std::size_t s = 0; s < before && sets.size() <= most(); ++s) {
                    if (holds(sets[s], static_cast<int>(i))) continue;
                    sets.push_back(sets[s]);
                    sets.back().push_back(static_cast<int>(i));
                }
            }
        }
        double choices = 0;
        for (const std::vector<int>& chosen : sets) {
            const CheckpointedStep base = play(graph_, flat_, regions_, nothing_saved(chosen));
            choices += std::exp2(static_cast<double>(items(chosen, base).size()));
            if (choices > class_.most_tried) return {};
        }
        return sets;
    }

    std::size_t most() const { return static_cast<std::size_t>(class_.most_tried); }

    std::vector<SaveItem> items(const std::vector<int>& chosen, const CheckpointedStep& base) const {
        return items_to_save(graph_, flat_, regions_, chosen, base, class_.by_selectors);
    }

    bool holds(const std::vector<int>& chosen, int region) const {
        for (int above = region; above >= 0; above = regions_[static_cast<std::size_t>(above)].parent)
            if (std::find(chosen.begin(), chosen.end(), above) != chosen.end()) return true;
        return false;
    }

    void try_all(const std::vector<int>& chosen) {
        const SaveSet nothing = nothing_saved(chosen);
        const CheckpointedStep base = play(graph_, flat_, regions_, nothing);
        const std::vector<SaveItem> all = items(chosen, base);
        for (std::uint32_t taken = 0; taken < (1U << all.size()) && !stopped(); ++taken) {
            SaveSet save_set = nothing;
            for (std::size_t i = 0; i < all.size(); ++i)
                for (const std::int32_t op : all[i].ops) save_set.saved[op] = (taken >> i) & 1U;
            offer(std::move(save_set));
        }
    }

    bool stopped() { return stopped_ = stopped_ || deadline_.passed(); }

    /// Returns the items sorted by time divided by price, the best first.
    static std::vector<const SaveItem*> by_worth(const std::vector<SaveItem>& items, const Prices& prices) {
        std::vector<std::pair<double, const SaveItem*>> ranked;
        for (const SaveItem& item : items)
            ranked.emplace_back(static_cast<double>(item.time) / (prices.of(item) + 1e-9), &item);
        std::stable_sort(ranked.begin(), ranked.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        std::vector<const SaveItem*> sorted;
        for (const auto& [worth, item] : ranked) sorted.push_back(item);
        return sorted;
    }

    /// Goes through the items, the best first, and adds each item that fits the budget to `save_set`. Returns
    /// the bytes by moment.
    std::vector<std::int64_t> fill(const CheckpointedStep& base, const std::vector<SaveItem>& items,
                                   const Prices& prices, SaveSet& save_set) {
        MomentRoom room(base, budget_);
        for (const SaveItem* item : by_worth(items, prices))
            if (item->time > 0 && !stopped() && room.take(*item))
                for (const std::int32_t op : item->ops) save_set.saved[op] = 1;
        return {room.used().begin(), room.used().end()};
    }

    /// Offers save sets in which all regions of `chosen` are checkpointed.
    void fill(const std::vector<int>& chosen) {
        const CheckpointedStep base = play(graph_, flat_, regions_, nothing_saved(chosen));
        const std::vector<SaveItem> all = items(chosen, base);
        work_ += static_cast<std::int64_t>(all.size() + 10) * static_cast<std::int64_t>(base.moments.size());
        Prices prices(base.moments.size());
        for (int round = 0; round < kPrices && !stopped(); ++round) {
            SaveSet save_set = nothing_saved(chosen);
            prices.raise(fill(base, all, prices, save_set));
            offer(std::move(save_set));
        }
        offer(nothing_saved(chosen));
    }

    /// Offers save sets in which regions are left out, that is, not checkpointed: none at first, then more
    /// and more, at last all. Regions whose rerun takes much time, compared with the price of their bytes,
    /// are left out first.
    void leave_some(const std::vector<int>& chosen) {
        const CheckpointedStep base = play(graph_, flat_, regions_, nothing_saved(chosen));
        const std::vector<SaveItem> leave = items_to_leave(flat_, regions_, chosen, base);
        Prices prices(base.moments.size());
        prices.raise(base.during);
        const std::vector<const SaveItem*> sorted = by_worth(leave, prices);
        const int steps = std::min(static_cast<int>(chosen.size()), kMostNumbers);
        for (int step = 0; step <= steps && !stopped(); ++step) {
            const std::size_t left =
                steps == 0 ? 0
                           : chosen.size() * static_cast<std::size_t>(step) / static_cast<std::size_t>(steps);
            std::vector<int> others = chosen;
            for (std::size_t i = 0; i < left; ++i) std::erase(others, sorted[i]->region);
            fill(others);
        }
    }

    /// Returns variants of the regions of the best choice, each with one change of `region`: the region is
    /// left out, is replaced by the regions inside it, or is added and replaces the regions inside it.
    std::vector<std::vector<int>> varied(int region) const {
        const std::vector<int>& best = result_.best->save_set.regions;
        const auto parent = [&](int of) { return regions_[static_cast<std::size_t>(of)].parent; };
        if (!holds(best, region)) {
            std::vector<int> taken = {region};
            for (const int other : best)
                if (!holds({region}, other)) taken.push_back(other);
            std::sort(taken.begin(), taken.end());
            return {taken};
        }
        if (std::find(best.begin(), best.end(), region) == best.end()) return {};
        std::vector<int> left = best;
        std::erase(left, region);
        std::vector<int> divided = left;
        for (int child = region + 1; child < static_cast<int>(regions_.size()); ++child)
            if (parent(child) == region) divided.push_back(child);
        if (divided.size() == left.size()) return {left};
        std::sort(divided.begin(), divided.end());
        return {left, divided};
    }

    /// Tries changes to the regions of the best choice, one region at a time. Returns whether a better choice
    /// was found.
    bool vary_best() {
        bool found = false;
        for (int region = 0; region < static_cast<int>(regions_.size()) && result_.best; ++region) {
            for (const std::vector<int>& chosen : varied(region)) {
                if (stopped() || work_ > kMostWork) return false;
                const std::pair before(result_.best->time, result_.best->peak);
                fill(chosen);
                if (std::pair(result_.best->time, result_.best->peak) == before) continue;
                found = true;
                break;
            }
        }
        return found;
    }

    const Graph& graph_;
    const FlatGraph& flat_;
    const std::vector<Region>& regions_;
    const std::int64_t budget_;
    const SaveClass class_;
    const Deadline& deadline_;
    SaveSearchResult result_;
    std::int64_t work_ = 0;  ///< items times moments, summed over all calls of `fill`
    bool stopped_ = false;
};

}  // namespace

SaveSearchResult search_save_set(const Graph& graph, const FlatGraph& flat,
                                 const std::vector<Region>& regions, Bytes budget, const SaveClass& of,
                                 const Deadline& deadline) {
    return Search(graph, flat, regions, budget, of, deadline).find();
}

std::string selector_of(const Op& op) {
    std::string pattern;
    for (std::size_t begin = 0; begin <= op.module.size();) {
        const std::size_t end = std::min(op.module.find('.', begin), op.module.size());
        const std::string part = op.module.substr(begin, end - begin);
        pattern += (begin > 0 ? "." : "") + (is_number(part) ? "*" : part);
        begin = end + 1;
    }
    return pattern + "::" + op.name.substr(op.name.rfind(':') + 1);
}

}  // namespace rematlas
