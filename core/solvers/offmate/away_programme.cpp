#include "core/solvers/offmate/away_programme.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace rematlas::offmate {

AwayProgramme::AwayProgramme(const FlatGraph& flat, const Lifetimes& lives, const AwayLimits& limits)
    : flat_(flat),
      lives_(lives),
      limits_(limits),
      run_stages_(std::min(limits.most_stages, lives.run_count())) {
    byte_scale_ = 1000.0 / static_cast<double>(std::max<std::int64_t>(limits.budget, 1));
    time_scale_ = 1000.0 / static_cast<double>(std::max<std::int64_t>(flat.base_time, 1));
    add_made();
    add_read_on_host();
    add_residents();
    double bytes = 0, copies = 0;
    for (const Item& item : items_) {
        bytes += static_cast<double>(item.bytes);
        copies += static_cast<double>(item.gaps.size());
    }
    CopyFlows flows(milp_, stages(), rates_of(limits.links, bytes, copies, byte_scale_, time_scale_));
    for (const CopyFlows::Item& item : flows_) flows.add(item);
    add_host_work(flows.finish(needs(), 1000, limits.price));
    if (limits.host_budget)
        add_row(milp_, -kInfinite, on_host_, static_cast<double>(*limits.host_budget) * byte_scale_);
}

int AwayProgramme::stage_of(int run) const {
    if (run == kStart) return 0;
    if (run == lives_.run_count()) return run_stages_ + 1;
    return 1 + static_cast<int>(static_cast<std::int64_t>(run) * run_stages_ / lives_.run_count());
}

bool AwayProgramme::may_leave(const Gap& gap) const {
    if (gap.forced) return true;
    if (!gap.movable || flat_.bytes[gap.tensor] < limits_.least_copy) return false;
    const bool at_an_end = lives_.is_resident(gap.tensor) && (gap.begin == kStart || gap.to_end);
    return at_an_end || gap.stays_away || stage_of(gap.end) - stage_of(gap.begin) > 1;
}

/// Adds one item for several gaps, which must begin and end in the same stages.
int AwayProgramme::add_item(std::vector<std::int32_t> gaps) {
    Item item{.gaps = std::move(gaps)};
    std::sort(item.gaps.begin(), item.gaps.end(), [&](int a, int b) {
        return flat_.bytes[lives_.gaps[a].tensor] > flat_.bytes[lives_.gaps[b].tensor];
    });
    for (const int gap : item.gaps) item.bytes += flat_.bytes[lives_.gaps[gap].tensor];
    const bool forced = lives_.gaps[item.gaps.front()].forced;
    item.column = milp_.add_column({.lower = forced ? 1.0 : 0.0, .upper = 1});
    items_.push_back(std::move(item));
    return static_cast<int>(items_.size()) - 1;
}

MilpSum AwayProgramme::bytes_of(int item) const {
    MilpSum sum;
    sum.add(items_[item].column, static_cast<double>(items_[item].bytes) * byte_scale_);
    return sum;
}

void AwayProgramme::add_made() {
    std::map<std::tuple<int, int, bool, bool>, std::vector<std::int32_t>> alike;
    for (std::size_t g = 0; g < lives_.gaps.size(); ++g) {
        const Gap& gap = lives_.gaps[g];
        if (lives_.is_resident(gap.tensor) || !may_leave(gap)) continue;
        alike[{stage_of(gap.begin), stage_of(gap.end), gap.stays_away, gap.forced}].push_back(
            static_cast<std::int32_t>(g));
    }
    for (auto& [key, gaps] : alike) {
        const auto& [begin, end, stays_away, forced] = key;
        const MilpSum bytes = bytes_of(add_item(std::move(gaps)));
        // If `forced`, an op on the host makes or changes the tensor. Then the tensor need not be copied to
        // the host.
        const int returns = stays_away ? stages() : std::max(end, begin + 1);
        flows_.push_back(
            {.bytes = bytes, .leaves = begin, .returns = returns, .out = !forced, .in = !stays_away});
        on_host_.add(bytes);
    }
}

/// Adds the tensors, such as gradients, whose last readers are ops on the host. These tensors leave the
/// device for good after their last use on the device.
void AwayProgramme::add_read_on_host() {
    std::vector<int> last(flat_.tensor_count, kStart);
    for (int run = 0; run < lives_.run_count(); ++run)
        for (const Touch& touch : lives_.touches(run)) last[touch.tensor] = touch.next < 0 ? run : kStart;
    for (int t = 0; t < flat_.tensor_count; ++t) {
        if (lives_.last_read_on_host(t) < 0 || last[t] == kStart || lives_.is_resident(t)) continue;
        const int stage = stage_of(last[t]);
        leaving_for_good_.emplace_back(stage, flat_.bytes[t]);
        MilpSum bytes;
        bytes.constant = static_cast<double>(flat_.bytes[t]) * byte_scale_;
        flows_.push_back({bytes, stage, stages(), true, false});
    }
}

/// Adds a column per stage: the time from the stage to the end of the step. In this time, the host must be
/// able to run the host ops of the previous stage and all later host ops. `time`: the column of each stage's
/// time.
void AwayProgramme::add_host_work(const std::vector<int>& time) {
    std::vector<std::int64_t> work(time.size(), 0);  // ns of host work from the first host op of the stage on
    std::int64_t left = 0;
    for (int run = lives_.run_count(); run-- > 0;)
        if (lives_.runs()[run].on_host)
            work[static_cast<std::size_t>(stage_of(run))] = left += lives_.host_time(run);
    int from_next = -1;
    for (std::size_t stage = left > 0 ? time.size() : 0; stage-- > 1;) {
        const int from_here = milp_.add_column({});
        MilpSum sum;
        sum.add(from_here);
        sum.add(time[stage], -1);
        if (from_next >= 0) sum.add(from_next, -1);
        add_row(milp_, 0, sum, 0);
        from_next = from_here;
        MilpSum least;
        least.add(from_here);
        if (work[stage - 1] > 0)
            add_row(milp_, static_cast<double>(work[stage - 1]) * time_scale_, least, kInfinite);
    }
}

void AwayProgramme::add_residents() {
    std::vector<std::vector<std::int32_t>> gaps_of(flat_.tensor_count);
    for (std::size_t g = 0; g < lives_.gaps.size(); ++g)
        if (lives_.is_resident(lives_.gaps[g].tensor))
            gaps_of[lives_.gaps[g].tensor].push_back(static_cast<std::int32_t>(g));
    // Residents form a group if their events are in the same stages and they may be away in the same gaps.
    std::map<std::vector<int>, std::vector<std::vector<std::int32_t>>> alike;
    for (int t = 0; t < flat_.tensor_count; ++t) {
        if (gaps_of[t].empty()) continue;
        std::vector<int> key{lives_.is_changed(t)};
        for (const int g : gaps_of[t]) {
            const Gap& gap = lives_.gaps[g];
            key.push_back(stage_of(gap.end));
            key.push_back(may_leave(gap) + 2 * gap.forced);
        }
        alike[key].push_back(gaps_of[t]);
    }
    for (const auto& [key, group] : alike) add_group(group);
}

/// Adds a group of residents. `gaps_of`: the gaps of each resident; gap k begins and ends in the same stages
/// for all residents.
void AwayProgramme::add_group(const std::vector<std::vector<std::int32_t>>& gaps_of) {
    const auto item_of = [&](std::size_t k) {
        std::vector<std::int32_t> gaps;
        for (const auto& gaps_of_tensor : gaps_of) gaps.push_back(gaps_of_tensor[k]);
        return add_item(std::move(gaps));
    };
    const std::size_t last = gaps_of.front().size() - 1;
    const Gap &from_start = lives_.gaps[gaps_of.front().front()],
              &to_end = lives_.gaps[gaps_of.front()[last]];
    const bool changed = lives_.is_changed(from_start.tensor);
    int lives_there = -1;
    if (may_leave(from_start) && may_leave(to_end)) {
        const int item = item_of(last);
        lives_there = items_[item].column;
        const MilpSum bytes = bytes_of(item);
        on_host_.add(bytes);
        // A resident that an op on the host changes need not be copied to the host.
        const bool out = changed && !to_end.forced;
        if (last > 0) flows_.push_back({bytes, -1, std::max(stage_of(from_start.end), 1), false, true});
        flows_.push_back({bytes, last > 0 ? stage_of(to_end.begin) : -1, stages(), out, false});
    }
    for (std::size_t k = 1; k < last; ++k) {
        const Gap& gap = lives_.gaps[gaps_of.front()[k]];
        if (!may_leave(gap) || (changed && lives_there < 0)) continue;
        const int item = item_of(k);
        const MilpSum bytes = bytes_of(item);
        if (changed) {
            MilpSum row;
            row.add(items_[item].column);
            row.add(lives_there, -1);
            if (!gap.forced) add_row(milp_, -kInfinite, row, 0);
        } else {
            on_host_.add(bytes);
        }
        const int begin = stage_of(gap.begin);
        flows_.push_back({bytes, begin, std::max(stage_of(gap.end), begin + 1), false, true});
    }
}

/// Returns for each stage its compute time, and the most memory that it needs if all tensors stay on the
/// device.
std::vector<CopyFlows::Stage> AwayProgramme::needs() const {
    const std::vector<std::int64_t> memory = lives_.memory(std::vector<char>(lives_.gaps.size(), 0));
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(stages()), 0), time(bytes.size(), 0);
    for (std::size_t at = 0; at < memory.size(); ++at) {
        const auto stage = static_cast<std::size_t>(stage_of(static_cast<int>(at) - 1));
        bytes[stage] = std::max(bytes[stage], memory[at]);
    }
    for (int run = 0; run < lives_.run_count(); ++run)
        if (!lives_.runs()[run].on_host)
            time[static_cast<std::size_t>(stage_of(run))] += flat_.time[lives_.runs()[run].op];
    for (const auto& [after, left] : leaving_for_good_)
        for (auto stage = static_cast<std::size_t>(after + 1); stage < bytes.size(); ++stage)
            bytes[stage] += left;
    std::vector<CopyFlows::Stage> needs(bytes.size());
    for (std::size_t s = 0; s < needs.size(); ++s) {
        needs[s].bytes.constant = static_cast<double>(bytes[s]) * byte_scale_;
        needs[s].time.constant = static_cast<double>(time[s]) * time_scale_;
    }
    return needs;
}

std::vector<char> AwayProgramme::rounded(std::span<const double> values) const {
    constexpr double kNearly = 1e-6;  // a smaller fraction of an item counts as nothing
    std::vector<char> away = lives_.least_away();
    for (const Item& item : items_) {
        const double share = values[static_cast<std::size_t>(item.column)];
        auto missing = static_cast<std::int64_t>((share - kNearly) * static_cast<double>(item.bytes));
        // Goes through the gaps, the largest first. Takes each gap that has no more bytes than are missing.
        // If bytes are still missing at the end, takes the smallest gap that covers them.
        std::int32_t completing = -1;
        for (const std::int32_t g : item.gaps) {
            const std::int64_t bytes = flat_.bytes[lives_.gaps[g].tensor];
            if (away[g] || missing <= 0) continue;
            if (bytes > missing) {
                completing = g;
                continue;
            }
            away[g] = 1;
            missing -= bytes;
        }
        if (missing > 0 && completing >= 0) away[completing] = 1;
    }
    for (int t = 0; t < flat_.tensor_count; ++t)
        if (lives_.is_resident(t)) away[lives_.first_gap(t)] = away[lives_.last_gap(t)];
    return away;
}

}  // namespace rematlas::offmate
