// The memory that a program really held over time, from a memory snapshot of torch or from a trace of its
// profiler.
//
//     Result<MeasuredMemory> measured = read_measured_memory("snapshot.pickle");
//     const MeasuredDevice& device = measured->devices.front();
//     const TraceMoment peak = peak_moment(device.allocated);
//     for (const PlaceShare& share : alive_by_place(*measured, device, peak)) ...
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/snapshots/call_stacks.h"

namespace rematlas {

/// How many events of a device have happened: 0 is before the first one.
using TraceMoment = std::uint32_t;

struct MeasuredBlock {
    std::uint64_t address = 0;
    Bytes bytes = {};       ///< as requested: the allocator rounds them up
    TraceMoment from = 0;   ///< first moment at which it is there; 0: since before the trace
    TraceMoment until = 0;  ///< first moment at which it is gone; past the last one where it stays
    StackId stack = {};     ///< of its allocation; invalid where unknown
    TextId metadata = {};   ///< the program's own words at its allocation

    bool alive_at(TraceMoment moment) const { return from <= moment && moment < until; }
};

struct OutOfMemory {
    TraceMoment moment = 0;
    Bytes asked = {};
    Bytes device_free = {};  ///< as the device said
    StackId stack = {};
};

struct HeldBlock {
    std::uint64_t address = 0;
    Bytes bytes = {};
    bool allocated = false;  ///< a tensor lies here
    bool awaiting = false;   ///< the program gave it back, but a stream may still read it
    StackId stack = {};
};

/// Memory that the allocator took from the device, as it is when the snapshot is made.
struct HeldSegment {
    std::uint64_t address = 0;
    Bytes bytes = {};
    bool expandable = false;
    std::vector<HeldBlock> blocks = {};  ///< by address
};

/// What a trace leaves open, because it holds the last events only and tells of blocks only by their events.
struct TraceGaps {
    Bytes before = {};                   ///< allocated when the trace begins
    Bytes before_unplaced = {};          ///< of these: allocated at an unknown place
    std::size_t lost_frees = 0;          ///< addresses that are given out again without a free in between
    std::size_t missing_blocks = 0;      ///< blocks without a free in the trace that are gone at the end
    Bytes missing = {};                  ///< their bytes
    Bytes reserved_short = {};           ///< how far the computed reserved bytes fall below 0
    std::optional<Bytes> rounding = {};  ///< bytes of the blocks at the end beyond those asked for
};

struct MeasuredDevice {
    std::string name;                          ///< "cuda:0"
    std::vector<std::int64_t> times_us = {};   ///< of each event; empty where torch wrote no times
    std::vector<std::int64_t> allocated = {};  ///< bytes, at each moment
    std::vector<std::int64_t> reserved = {};   ///< bytes that the allocator took; empty where unknown
    std::vector<MeasuredBlock> blocks = {};
    std::vector<OutOfMemory> failures = {};
    std::vector<HeldSegment> segments = {};  ///< when the snapshot was made; empty for profiles
    TraceGaps gaps = {};

    std::size_t events() const { return allocated.size() - 1; }
};

struct MeasuredMemory {
    enum class Source { snapshot, profile };
    Source source = Source::snapshot;
    TextTable texts = {};
    CallStacks stacks = {};
    std::vector<MeasuredDevice> devices = {};  ///< devices with events or segments
    std::string settings = {};                 ///< PYTORCH_CUDA_ALLOC_CONF
};

/// Reads a pickle by torch.cuda.memory._dump_snapshot, or a Chrome trace by torch.profiler with
/// profile_memory=True. Errors: one line that names the file and the place in it.
Result<MeasuredMemory> read_measured_memory(const std::filesystem::path& path, std::stop_token stop = {});
Result<MeasuredMemory> parse_measured_memory(std::string_view bytes, const std::string& name);

/// The first moment with the most bytes. The levels are not empty.
TraceMoment peak_moment(const std::vector<std::int64_t>& levels);

/// Blocks of one place in the user's code.
struct PlaceShare {
    FrameId place = {};   ///< invalid where it is unknown
    bool before = false;  ///< unknown because they were allocated before the trace begins
    Bytes bytes = {};
    std::size_t blocks = 0;
};

/// The blocks that are alive at a moment, by place, the largest share first.
std::vector<PlaceShare> alive_by_place(const MeasuredMemory& measured, const MeasuredDevice& device,
                                       TraceMoment moment);
/// "train.py:12 step", or why there is no place.
std::string share_name(const MeasuredMemory& measured, const PlaceShare& share);
/// The share that a block belongs to, without bytes.
PlaceShare share_of(const MeasuredMemory& measured, const MeasuredBlock& block);

/// How the allocator's segments are filled when the snapshot is made.
struct Fragmentation {
    std::size_t segments = 0;
    Bytes reserved = {};
    Bytes allocated = {};
    Bytes awaiting = {};      ///< given back by the program, still read by a stream
    Bytes inactive = {};      ///< free inside segments
    Bytes stuck = {};         ///< inactive bytes in segments that hold something, which cannot go back
    Bytes largest_free = {};  ///< the largest block that is free
};
Fragmentation fragmentation_of(const MeasuredDevice& device);

}  // namespace rematlas
