#include "core/snapshots/peak_differences.h"

#include <algorithm>
#include <map>

namespace rematlas {
namespace {

constexpr std::int64_t kAllocatorRounds = 512;
constexpr std::size_t kMostNames = 3;

/// The blocks of one size, in the plan or in the measurement: how many there are, and how often each name
/// occurs.
struct SizeGroup {
    std::size_t blocks = 0;
    std::map<std::string, std::size_t> names;

    void add(const std::string& name) {
        ++blocks;
        ++names[name];
    }
};
using SizeGroups = std::map<std::int64_t, SizeGroup>;

std::int64_t as_allocated(Bytes bytes) {
    return (bytes.value + kAllocatorRounds - 1) / kAllocatorRounds * kAllocatorRounds;
}

/// Returns a text such as "train.py:12 step (3), loss.py:4 f"; the most frequent names come first.
std::string names_in_group(const SizeGroup& group) {
    std::vector<std::pair<std::string, std::size_t>> names(group.names.begin(), group.names.end());
    std::stable_sort(names.begin(), names.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
        text += (i > 0 ? ", " : "") + names[i].first;
        if (names[i].second > 1) text += " (" + std::to_string(names[i].second) + ")";
    }
    return names.size() > kMostNames ? text + ", ..." : text;
}

SizeGroups measured_groups(const MeasuredMemory& measured, const MeasuredDevice& device, TraceMoment moment) {
    SizeGroups groups;
    for (const MeasuredBlock& block : device.blocks)
        if (block.alive_at(moment) && block.bytes.value > 0)
            groups[as_allocated(block.bytes)].add(share_name(measured, share_of(measured, block)));
    return groups;
}

/// Compares the numbers of blocks size by size. Where `side` has more blocks of a size than `other`, adds a
/// difference to `out`.
void add_more_of(const SizeGroups& side, const SizeGroups& other, bool measured,
                 std::vector<PeakDifference>& out) {
    for (const auto& [bytes, group] : side) {
        const auto there = other.find(bytes);
        const std::size_t blocks = there == other.end() ? 0 : there->second.blocks;
        if (group.blocks > blocks)
            out.push_back({measured, Bytes(bytes), group.blocks - blocks, names_in_group(group)});
    }
}

}  // namespace

std::vector<PeakDifference> peak_differences(const std::vector<PlannedBytes>& planned,
                                             const MeasuredMemory& measured, const MeasuredDevice& device,
                                             TraceMoment moment) {
    SizeGroups plan;
    for (const PlannedBytes& held : planned)
        if (held.bytes.value > 0) plan[as_allocated(held.bytes)].add(held.name);
    const SizeGroups alive = measured_groups(measured, device, moment);
    std::vector<PeakDifference> differences;
    add_more_of(alive, plan, true, differences);
    add_more_of(plan, alive, false, differences);
    std::stable_sort(differences.begin(), differences.end(),
                     [](const PeakDifference& a, const PeakDifference& b) { return a.total() > b.total(); });
    return differences;
}

}  // namespace rematlas
