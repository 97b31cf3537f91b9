#include "core/snapshots/measured_memory.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

#include "core/snapshots/memory_snapshot.h"
#include "core/snapshots/profiler_trace.h"
#include "core/snapshots/snapshot_timeline.h"

namespace rematlas {
namespace {

constexpr char kPickleBegins = '\x80';

Result<MeasuredMemory> timeline_of(Result<MemorySnapshot> snapshot, const std::string& name) {
    if (!snapshot) return snapshot.error();
    MeasuredMemory measured = measured_from(snapshot.take());
    if (measured.devices.empty())
        return Error{name +
                     ": holds neither segments nor events; call torch.cuda.memory._record_memory_history() "
                     "before the step and dump the snapshot after it"};
    return measured;
}

}  // namespace

Result<MeasuredMemory> read_measured_memory(const std::filesystem::path& path, std::stop_token stop) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Error{path.string() + ": cannot open"};
    if (file.peek() == static_cast<unsigned char>(kPickleBegins))
        return timeline_of(read_memory_snapshot(path, std::move(stop)), path.string());
    return read_profiler_trace(path, std::move(stop));
}

Result<MeasuredMemory> parse_measured_memory(std::string_view bytes, const std::string& name) {
    if (bytes.starts_with(kPickleBegins)) return timeline_of(parse_memory_snapshot(bytes, name), name);
    return parse_profiler_trace(bytes, name);
}

TraceMoment peak_moment(const std::vector<std::int64_t>& levels) {
    return static_cast<TraceMoment>(std::max_element(levels.begin(), levels.end()) - levels.begin());
}

PlaceShare share_of(const MeasuredMemory& measured, const MeasuredBlock& block) {
    const FrameId place = measured.stacks.place(block.stack);
    return {.place = place, .before = !place.valid() && block.from == 0};
}

std::vector<PlaceShare> alive_by_place(const MeasuredMemory& measured, const MeasuredDevice& device,
                                       TraceMoment moment) {
    std::map<std::pair<FrameId, bool>, PlaceShare> shares;
    for (const MeasuredBlock& block : device.blocks) {
        if (!block.alive_at(moment)) continue;
        const PlaceShare of = share_of(measured, block);
        PlaceShare& share = shares.try_emplace({of.place, of.before}, of).first->second;
        share.bytes += block.bytes;
        ++share.blocks;
    }
    std::vector<PlaceShare> sorted;
    for (const auto& [place, share] : shares) sorted.push_back(share);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const PlaceShare& a, const PlaceShare& b) { return a.bytes > b.bytes; });
    return sorted;
}

std::string share_name(const MeasuredMemory& measured, const PlaceShare& share) {
    if (share.place.valid()) return place_text(measured.stacks[share.place], measured.texts);
    return share.before ? "allocated before the trace begins" : "no frames recorded";
}

Fragmentation fragmentation_of(const MeasuredDevice& device) {
    Fragmentation sums;
    for (const HeldSegment& segment : device.segments) {
        ++sums.segments;
        sums.reserved += segment.bytes;
        Bytes inactive;
        bool holds = false;
        for (const HeldBlock& block : segment.blocks) {
            if (block.allocated) sums.allocated += block.bytes;
            if (block.awaiting) sums.awaiting += block.bytes;
            holds = holds || block.allocated || block.awaiting;
            if (block.allocated || block.awaiting) continue;
            inactive += block.bytes;
            sums.largest_free = std::max(sums.largest_free, block.bytes);
        }
        sums.inactive += inactive;
        if (holds) sums.stuck += inactive;
    }
    return sums;
}

}  // namespace rematlas
