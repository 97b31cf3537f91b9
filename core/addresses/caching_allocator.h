// A model of libtorch's caching allocator of CUDA memory: which bytes it hands out and which it holds, for
// the requests of a schedule.
//
//     Result<CachingAllocatorPeaks> peaks = caching_allocator_peaks(graph, schedule.steps, {});
//     peaks->allocated;  // what tensors and workspaces take, rounding and unsplit remainders included
//     peaks->reserved;   // what the process holds of the device, fragmentation included
//
// Source: the rules that PyTorch documents for its CUDA memory management ("CUDA semantics",
// torch.cuda.memory) and the constants in c10/core/AllocatorConfig.h. Requests are rounded up to 512 bytes.
// Requests of at most 1 MiB come from segments of 2 MiB, larger requests from segments of 20 MiB, and
// requests of 10 MiB or more from a segment of their own, rounded up to 2 MiB. The smallest free block that
// is large enough serves. Its rest becomes a free block when it has 512 bytes or more (small requests), more
// than 1 MiB (large requests). Freed blocks merge with free neighbours of their segment. Segments are kept.
// With expandable segments there is one segment a pool, which grows by whole 2 MiB or 20 MiB, and every block
// is split.
//
// Not modelled: memory that runs out (segments are then returned and searched again), several streams, and
// settings other than these. Where two free blocks are equally large the one at the lower address serves, and
// later segments are taken to lie higher, which the driver does not promise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Every request is rounded up to a multiple of these bytes.
constexpr std::int64_t cuda_granularity = 512;

class CachingAllocator {
  public:
    explicit CachingAllocator(CachingAllocatorOptions options = {}) : options_(options) {}

    /// The address of a block of at least `bytes`, which is positive. Cost: logarithmic in the blocks.
    std::int64_t allocate(std::int64_t bytes);
    /// `address` came from `allocate` and was not freed since.
    void free(std::int64_t address);

    std::int64_t size_at(std::int64_t address) const;  ///< of the block, in bytes
    std::int64_t allocated() const { return allocated_; }
    std::int64_t reserved() const { return reserved_; }
    std::size_t free_blocks() const { return pools_[0].free.size() + pools_[1].free.size(); }
    std::size_t segments() const { return segments_; }

  private:
    struct Block {
        std::int64_t size = 0;
        std::int64_t segment = 0;  ///< address of the segment
        bool small = false;        ///< of the pool of small requests
        bool is_free = false;
    };
    using Blocks = std::map<std::int64_t, Block>;  ///< by address
    struct Pool {
        std::set<std::pair<std::int64_t, std::int64_t>> free;  ///< size, address
        std::int64_t base = -1, end = -1;  ///< of the expandable segment, once there is one
    };

    std::optional<std::int64_t> take_free(Pool& pool, std::int64_t size);
    std::int64_t new_segment(std::int64_t size, bool small);
    std::int64_t grow(Pool& pool, std::int64_t size, bool small);
    void split(Pool& pool, std::int64_t address, std::int64_t size);
    Blocks::iterator merge(Pool& pool, Blocks::iterator left, Blocks::iterator right);

    CachingAllocatorOptions options_;
    Blocks blocks_;
    Pool pools_[2];  ///< large, small
    std::int64_t next_address_ = 0;
    std::int64_t allocated_ = 0, reserved_ = 0;
    std::size_t segments_ = 0;
};

struct CachingAllocatorPeaks {
    Bytes allocated;  ///< never less than the peak of `simulate`
    Bytes reserved;   ///< never less than `allocated`
};

/// Residents are allocated first, one by one; a run allocates its outputs in the op's order, then its
/// workspace as one block. Errors: those of `simulate`. Cost: that of `simulate` and a logarithm for each
/// tensor made.
Result<CachingAllocatorPeaks> caching_allocator_peaks(const Graph& graph, const std::vector<Step>& steps,
                                                      const CachingAllocatorOptions& options,
                                                      const Homes& homes = {},
                                                      const std::optional<Links>& links = {});

}  // namespace rematlas
