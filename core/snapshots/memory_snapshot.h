// A snapshot written by `torch.cuda.memory._dump_snapshot`: the allocator's segments and its last events.
//
//     Result<MemorySnapshot> snapshot = read_memory_snapshot("snapshot.pickle");
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/snapshots/call_stacks.h"

namespace rematlas {

enum class AllocatorAction : std::uint8_t {
    alloc,
    free_requested,  ///< the program frees a block
    free_completed,  ///< the block can be used again; the event is late if another stream still uses the
                     ///< block
    segment_alloc,
    segment_free,
    segment_map,    ///< an expandable segment takes more memory from the device
    segment_unmap,  ///< an expandable segment returns some memory to the device
    snapshot,
    oom,
    other,  ///< an action that changes no block
};

struct AllocatorEvent {
    std::uint64_t address = 0;  ///< for `oom`: the bytes that the device had free
    std::int64_t bytes = 0;     ///< for a block: the requested bytes, before the allocator rounds them
    std::int64_t time_us = 0;   ///< microseconds since 1970; 0 if torch wrote no time
    StackId stack = {};         ///< invalid if torch recorded none
    TextId metadata = {};       ///< the program's own text (user metadata)
    AllocatorAction action = AllocatorAction::other;
};

enum class BlockState : std::uint8_t { allocated, awaiting_free, inactive };

struct AllocatorBlock {
    std::uint64_t address = 0;
    std::int64_t bytes = 0, requested = 0;
    StackId stack = {};  ///< call stack of its allocation
    BlockState state = BlockState::inactive;
};

/// A range of a vector: `count` items, beginning with item `first`.
struct ItemRange {
    std::uint32_t first = 0, count = 0;
};

struct AllocatorSegment {
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::int64_t stream = 0;
    int device = 0;
    bool expandable = false;
    ItemRange blocks = {};  ///< range of `MemorySnapshot::blocks`, sorted by address
};

struct MemorySnapshot {
    TextTable texts;
    CallStacks stacks;
    std::vector<AllocatorSegment> segments;
    std::vector<AllocatorBlock> blocks;
    std::vector<ItemRange> device_events;  ///< per device: a range of `events`, in order of time
    std::vector<AllocatorEvent> events;
    std::string settings;  ///< value of PYTORCH_CUDA_ALLOC_CONF
};

/// Reads a pickle of protocol 2 to 5 that contains only plain values. Nothing in the file is ever imported or
/// called. A file of a gigabyte is read in seconds and needs less memory than its size. Errors: one line that
/// names the file and the byte.
Result<MemorySnapshot> read_memory_snapshot(const std::filesystem::path& path, std::stop_token stop = {});
Result<MemorySnapshot> parse_memory_snapshot(std::string_view bytes, const std::string& name);

}  // namespace rematlas
