#include "core/snapshots/measured_memory.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <span>
#include <unordered_set>
#include <utility>

#include "core/snapshots/lifetimes.h"
#include "core/snapshots/memory_snapshot.h"
#include "core/snapshots/profiler_trace.h"

namespace rematlas {
namespace {

constexpr char kPickleBegins = '\x80';

using EventSpan = std::span<const AllocatorEvent>;

EventSpan events_of(const MemorySnapshot& snapshot, std::size_t device) {
    if (device >= snapshot.device_events.size()) return {};
    const ItemRange range = snapshot.device_events[device];
    return EventSpan(snapshot.events).subspan(range.first, range.count);
}

/// Returns by how many bytes an event changes the reserved bytes.
std::int64_t reserved_by(const AllocatorEvent& event) {
    switch (event.action) {
        case AllocatorAction::segment_alloc:
        case AllocatorAction::segment_map:
            return event.bytes;
        case AllocatorAction::segment_free:
        case AllocatorAction::segment_unmap:
            return -event.bytes;
        default:
            return 0;
    }
}

std::vector<std::int64_t> reserved_levels(EventSpan events, std::int64_t at_end) {
    std::vector<std::int64_t> levels(events.size() + 1, at_end);
    for (std::size_t i = events.size(); i-- > 0;) levels[i] = levels[i + 1] - reserved_by(events[i]);
    return levels;
}

/// Applies the events to the lifetimes. A block ends when the program requests that it be freed, even if the
/// allocator cannot reuse it yet. If a trace contains no such requests, its completed frees are used instead.
void play(EventSpan events, BlockLifetimes& lifetimes) {
    const bool has_requests = std::any_of(events.begin(), events.end(), [](const AllocatorEvent& event) {
        return event.action == AllocatorAction::free_requested;
    });
    std::unordered_set<std::uint64_t> requested;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const AllocatorEvent& event = events[i];
        const auto after = static_cast<TraceMoment>(i + 1);
        if (event.action == AllocatorAction::alloc) {
            requested.erase(event.address);
            lifetimes.begin({.address = event.address,
                             .bytes = Bytes(event.bytes),
                             .from = after,
                             .stack = event.stack,
                             .metadata = event.metadata});
        } else if (event.action == AllocatorAction::free_requested) {
            requested.insert(event.address);
            lifetimes.end(event.address, Bytes(event.bytes), after);
        } else if (event.action == AllocatorAction::free_completed && requested.erase(event.address) == 0) {
            if (!has_requests || lifetimes.is_open(event.address))
                lifetimes.end(event.address, Bytes(event.bytes), after);
        }
    }
}

HeldSegment held_segment(const AllocatorSegment& segment, const MemorySnapshot& snapshot) {
    HeldSegment out{
        .address = segment.address, .bytes = Bytes(segment.bytes), .expandable = segment.expandable};
    for (std::uint32_t i = 0; i < segment.blocks.count; ++i) {
        const AllocatorBlock& block = snapshot.blocks[segment.blocks.first + i];
        out.blocks.push_back({.address = block.address,
                              .bytes = Bytes(block.bytes),
                              .allocated = block.state == BlockState::allocated,
                              .awaiting = block.state == BlockState::awaiting_free,
                              .stack = block.stack});
    }
    return out;
}

void add_times(EventSpan events, MeasuredDevice& device) {
    const bool timed =
        std::any_of(events.begin(), events.end(), [](const AllocatorEvent& e) { return e.time_us != 0; });
    if (!timed) return;
    device.times_us.reserve(events.size());
    for (const AllocatorEvent& event : events) device.times_us.push_back(event.time_us);
}

void add_failures(EventSpan events, MeasuredDevice& device) {
    for (std::size_t i = 0; i < events.size(); ++i)
        if (events[i].action == AllocatorAction::oom)
            device.failures.push_back({.moment = static_cast<TraceMoment>(i + 1),
                                       .asked = Bytes(events[i].bytes),
                                       .device_free = Bytes(static_cast<std::int64_t>(events[i].address)),
                                       .stack = events[i].stack});
}

MeasuredDevice measured_device(const MemorySnapshot& snapshot, int number) {
    MeasuredDevice device{.name = "cuda:" + std::to_string(number)};
    const EventSpan events = events_of(snapshot, static_cast<std::size_t>(number));
    BlockLifetimes lifetimes;
    play(events, lifetimes);
    std::int64_t reserved = 0;
    Bytes rounding;
    for (const AllocatorSegment& segment : snapshot.segments) {
        if (segment.device != number) continue;
        reserved += segment.bytes;
        device.segments.push_back(held_segment(segment, snapshot));
        for (std::uint32_t i = 0; i < segment.blocks.count; ++i) {
            const AllocatorBlock& block = snapshot.blocks[segment.blocks.first + i];
            if (block.state != BlockState::allocated) continue;
            lifetimes.stays(
                {.address = block.address, .bytes = Bytes(block.requested), .stack = block.stack});
            rounding += Bytes(block.bytes - block.requested);
        }
    }
    BlockLifetimes::Ended ended =
        lifetimes.finish(static_cast<TraceMoment>(events.size()), !device.segments.empty());
    device.blocks = std::move(ended.blocks);
    device.gaps = ended.gaps;
    if (!device.segments.empty()) device.gaps.rounding = rounding;
    device.allocated = levels_of(device.blocks, events.size() + 1);
    const bool tells_segments = std::any_of(
        events.begin(), events.end(), [](const AllocatorEvent& event) { return reserved_by(event) != 0; });
    if (tells_segments || !device.segments.empty()) device.reserved = reserved_levels(events, reserved);
    for (const std::int64_t level : device.reserved)
        device.gaps.reserved_short = std::max(device.gaps.reserved_short, Bytes(-level));
    add_times(events, device);
    add_failures(events, device);
    return device;
}

/// Computes which blocks were alive at which moments, and how many bytes were allocated and reserved. The
/// trace contains only the last events, so older blocks are found indirectly: a block of the final segments
/// that no event allocates existed all the time, and a block that is freed without an allocation existed at
/// the beginning. Reserved bytes are computed backwards from the final segments.
MeasuredMemory measured_from(MemorySnapshot snapshot) {
    MeasuredMemory measured;
    int devices = static_cast<int>(snapshot.device_events.size());
    for (const AllocatorSegment& segment : snapshot.segments) devices = std::max(devices, segment.device + 1);
    std::vector<char> holds(static_cast<std::size_t>(devices), 0);
    for (std::size_t i = 0; i < snapshot.device_events.size(); ++i)
        if (snapshot.device_events[i].count > 0) holds[i] = 1;
    for (const AllocatorSegment& segment : snapshot.segments)
        holds[static_cast<std::size_t>(segment.device)] = 1;
    for (int device = 0; device < devices; ++device)
        if (holds[static_cast<std::size_t>(device)])
            measured.devices.push_back(measured_device(snapshot, device));
    measured.texts = std::move(snapshot.texts);
    measured.stacks = std::move(snapshot.stacks);
    measured.settings = std::move(snapshot.settings);
    return measured;
}

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
