// Computes the lifetimes of memory blocks from the events that begin and end them.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/snapshots/measured_memory.h"

namespace rematlas {

class BlockLifetimes {
  public:
    /// Begins a block. `block.from` is the moment after the event.
    void begin(const MeasuredBlock& block);
    /// Ends the block that begins at `address`. `moment` is the first moment at which the block is gone. If
    /// no event began the block, it existed before the trace.
    void end(std::uint64_t address, Bytes bytes, TraceMoment moment);
    bool is_open(std::uint64_t address) const { return open_.contains(address); }

    /// Records a block that is alive when the trace ends, according to the allocator. If no event began the
    /// block, it existed before the trace.
    void stays(const MeasuredBlock& block);

    struct Ended {
        std::vector<MeasuredBlock> blocks;
        TraceGaps gaps;
    };
    /// Completes the lifetimes. Blocks that no event ended are still alive at the last moment, `last`.
    /// `all_stay` says whether `stays` was called for every block that is alive at the end. If so, all other
    /// blocks that no event ended are counted in TraceGaps::missing_blocks.
    Ended finish(TraceMoment last, bool all_stay);

  private:
    std::vector<MeasuredBlock> blocks_;
    std::unordered_map<std::uint64_t, std::uint32_t> open_;  ///< address to index in `blocks_`
    std::unordered_set<std::uint64_t> seen_at_end_;
    std::vector<MeasuredBlock> stayed_;
    std::size_t lost_frees_ = 0;
};

/// Returns, for each of `moments` moments, the total bytes of the blocks that are alive.
std::vector<std::int64_t> levels_of(const std::vector<MeasuredBlock>& blocks, std::size_t moments);

}  // namespace rematlas
