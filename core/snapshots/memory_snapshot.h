// A snapshot by `torch.cuda.memory._dump_snapshot`: the allocator's segments and its last events.
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
    free_requested,  ///< the program lets go of a block
    free_completed,  ///< the block can be given out again: later where another stream still uses it
    segment_alloc,
    segment_free,
    segment_map,    ///< an expandable segment takes more memory
    segment_unmap,  ///< an expandable segment gives some memory back
    snapshot,
    oom,
    other,  ///< changes no block
};

struct AllocatorEvent {
    std::uint64_t address = 0;  ///< of `oom`: the bytes that the device had free
    std::int64_t bytes = 0;     ///< of a block: as requested, before the allocator rounds
    std::int64_t time_us = 0;   ///< since 1970; 0 where torch wrote none
    StackId stack = {};         ///< invalid where torch recorded none
    TextId metadata = {};       ///< the program's own words
    AllocatorAction action = AllocatorAction::other;
};

enum class BlockState : std::uint8_t { allocated, awaiting_free, inactive };

struct AllocatorBlock {
    std::uint64_t address = 0;
    std::int64_t bytes = 0, requested = 0;
    StackId stack = {};  ///< of its allocation
    BlockState state = BlockState::inactive;
};

/// A range of a vector: `count` items from the item `first` on.
struct ItemRange {
    std::uint32_t first = 0, count = 0;
};

struct AllocatorSegment {
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::int64_t stream = 0;
    int device = 0;
    bool expandable = false;
    ItemRange blocks = {};  ///< of `MemorySnapshot::blocks`, by address
};

struct MemorySnapshot {
    TextTable texts;
    CallStacks stacks;
    std::vector<AllocatorSegment> segments;
    std::vector<AllocatorBlock> blocks;
    std::vector<ItemRange> device_events;  ///< per device: a range of `events`, in the order of time
    std::vector<AllocatorEvent> events;
    std::string settings;  ///< PYTORCH_CUDA_ALLOC_CONF
};

/// A pickle of protocol 2 to 5 that holds plain values alone: nothing in it is imported or called,
/// whatever it says. A file of a gigabyte is read in seconds and takes less memory than its size.
/// Errors: one line that names the file and the byte.
Result<MemorySnapshot> read_memory_snapshot(const std::filesystem::path& path, std::stop_token stop = {});
Result<MemorySnapshot> parse_memory_snapshot(std::string_view bytes, const std::string& name);

}  // namespace rematlas
