#include "core/snapshots/snapshot_timeline.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

#include "core/snapshots/lifetimes.h"

namespace rematlas {
namespace {

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

}  // namespace

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

}  // namespace rematlas
