// The memory that a program held over time, as torch measured it. It is read from a memory snapshot, or from
// a trace of torch's profiler.
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

/// A moment: how many events of a device have happened by then. 0 is before the first event.
using TraceMoment = std::uint32_t;

struct MeasuredBlock {
    std::uint64_t address = 0;
    Bytes bytes = {};       ///< as requested; the allocator rounds them up
    TraceMoment from = 0;   ///< first moment at which the block exists; 0 if it existed before the trace
    TraceMoment until = 0;  ///< first moment at which the block is gone; after the last moment if it stays
    StackId stack = {};     ///< call stack of the block's allocation; invalid if unknown
    TextId metadata = {};   ///< the program's own text (user metadata) at the allocation

    bool alive_at(TraceMoment moment) const { return from <= moment && moment < until; }
};

struct OutOfMemory {
    TraceMoment moment = 0;
    Bytes asked = {};
    Bytes device_free = {};  ///< free bytes, as the device reported them
    StackId stack = {};
};

struct HeldBlock {
    std::uint64_t address = 0;
    Bytes bytes = {};
    bool allocated = false;  ///< a tensor uses the block
    bool awaiting = false;   ///< the program freed it, but a stream may still read it
    StackId stack = {};
};

/// A piece of memory that the allocator took from the device, as it was when the snapshot was made.
struct HeldSegment {
    std::uint64_t address = 0;
    Bytes bytes = {};
    bool expandable = false;
    std::vector<HeldBlock> blocks = {};  ///< sorted by address
};

/// The unknown parts of a trace. A trace contains only the last events, and knows blocks only from events.
struct TraceGaps {
    Bytes before = {};                   ///< bytes that were already allocated when the trace began
    Bytes before_unplaced = {};          ///< part of `before` whose place of allocation is unknown
    std::size_t lost_frees = 0;          ///< addresses that were allocated again without a free in between
    std::size_t missing_blocks = 0;      ///< blocks that are gone at the end without a free in the trace
    Bytes missing = {};                  ///< bytes of the missing blocks
    Bytes reserved_short = {};           ///< how far the computed reserved bytes fall below 0
    std::optional<Bytes> rounding = {};  ///< bytes by which the allocator rounded up the blocks at the end
};

struct MeasuredDevice {
    std::string name;                          ///< e.g. "cuda:0"
    std::vector<std::int64_t> times_us = {};   ///< time of each event; empty if torch wrote no times
    std::vector<std::int64_t> allocated = {};  ///< allocated bytes at each moment
    /// Bytes taken from the device at each moment; empty if unknown.
    std::vector<std::int64_t> reserved = {};
    std::vector<MeasuredBlock> blocks = {};
    std::vector<OutOfMemory> failures = {};
    std::vector<HeldSegment> segments = {};  ///< segments when the snapshot was made; empty for profiles
    TraceGaps gaps = {};

    std::size_t events() const { return allocated.size() - 1; }
};

struct MeasuredMemory {
    enum class Source { snapshot, profile };
    Source source = Source::snapshot;
    TextTable texts = {};
    CallStacks stacks = {};
    std::vector<MeasuredDevice> devices = {};  ///< devices with events or segments
    std::string settings = {};                 ///< value of PYTORCH_CUDA_ALLOC_CONF
};

/// Reads a pickle written by torch.cuda.memory._dump_snapshot, or a Chrome trace written by torch.profiler
/// with profile_memory=True. Errors: one line that names the file and the place in it.
Result<MeasuredMemory> read_measured_memory(const std::filesystem::path& path, std::stop_token stop = {});
Result<MeasuredMemory> parse_measured_memory(std::string_view bytes, const std::string& name);

/// Returns the first moment with the most bytes. `levels` must not be empty.
TraceMoment peak_moment(const std::vector<std::int64_t>& levels);

/// The blocks that were allocated at one place in the user's code.
struct PlaceShare {
    FrameId place = {};   ///< invalid if the place is unknown
    bool before = false;  ///< whether the place is unknown because the blocks are older than the trace
    Bytes bytes = {};
    std::size_t blocks = 0;
};

/// Returns the blocks that are alive at a moment, grouped by place, the largest group first.
std::vector<PlaceShare> alive_by_place(const MeasuredMemory& measured, const MeasuredDevice& device,
                                       TraceMoment moment);
/// Returns a text such as "train.py:12 step", or the reason why there is no place.
std::string share_name(const MeasuredMemory& measured, const PlaceShare& share);
/// Returns the group that a block belongs to, with `bytes` and `blocks` still 0.
PlaceShare share_of(const MeasuredMemory& measured, const MeasuredBlock& block);

/// How full the allocator's segments were when the snapshot was made.
struct Fragmentation {
    std::size_t segments = 0;
    Bytes reserved = {};
    Bytes allocated = {};
    Bytes awaiting = {};  ///< freed by the program, but perhaps still read by a stream
    Bytes inactive = {};  ///< free inside segments
    /// Inactive bytes in segments with other blocks in use; they cannot go back to the device.
    Bytes stuck = {};
    Bytes largest_free = {};  ///< size of the largest free block
};
Fragmentation fragmentation_of(const MeasuredDevice& device);

}  // namespace rematlas
