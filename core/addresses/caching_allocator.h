// A model of libtorch's caching allocator of CUDA memory. For the requests of a schedule it computes the
// bytes that the allocator hands out and the bytes that it reserves.
//
//     Result<CachingAllocatorPeaks> peaks = caching_allocator_peaks(graph, schedule.steps, {});
//     peaks->allocated;  // bytes of tensors and workspaces, with rounding and unsplit remainders
//     peaks->reserved;   // bytes that the process reserves on the device, with fragmentation
//
// Source: the rules that PyTorch documents for its CUDA memory management ("CUDA semantics",
// torch.cuda.memory) and the constants in c10/core/AllocatorConfig.h. Requests are rounded up to 512 bytes.
// Requests of at most 1 MiB come from segments of 2 MiB, larger requests from segments of 20 MiB, and
// requests of 10 MiB or more from a segment of their own, whose size is a multiple of 2 MiB. The smallest
// free block that is large enough is used. The rest of that block becomes a free block if it has at least 512
// bytes (small requests), or more than 1 MiB (large requests). Freed blocks merge with free neighbours in
// their segment. Segments are never returned to the device. With expandable segments there is one segment
// per pool, which grows by multiples of 2 MiB (small requests) or 20 MiB, and the rest of every block becomes
// a free block.
//
// The model leaves out three things: a lack of memory (the real allocator then returns segments and tries
// again), several streams, and the allocator's other settings. If two free blocks are equally large, the one
// at the lower address is used. Later segments are assumed to have higher addresses, which the driver does
// not promise.
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

/// Every request is rounded up to a multiple of this many bytes.
constexpr std::int64_t cuda_granularity = 512;

class CachingAllocator {
  public:
    explicit CachingAllocator(CachingAllocatorOptions options = {}) : options_(options) {}

    /// Returns the address of a block of at least `bytes`, which must be positive. Cost: logarithmic in the
    /// number of blocks.
    std::int64_t allocate(std::int64_t bytes);
    /// `address` must come from `allocate` and must not have been freed since.
    void free(std::int64_t address);

    std::int64_t size_at(std::int64_t address) const;  ///< size of the block, in bytes
    std::int64_t allocated() const { return allocated_; }
    std::int64_t reserved() const { return reserved_; }
    std::size_t free_blocks() const { return pools_[0].free.size() + pools_[1].free.size(); }
    std::size_t segments() const { return segments_; }

  private:
    struct Block {
        std::int64_t size = 0;
        std::int64_t segment = 0;  ///< address of the segment
        bool small = false;        ///< belongs to the pool of small requests
        bool is_free = false;
    };
    using Blocks = std::map<std::int64_t, Block>;  ///< the key is the address
    struct Pool {
        std::set<std::pair<std::int64_t, std::int64_t>> free;  ///< (size, address)
        std::int64_t base = -1, end = -1;  ///< start and end of the expandable segment; -1 while there is
                                           ///< none
    };

    std::optional<std::int64_t> take_free(Pool& pool, std::int64_t size);
    std::int64_t new_segment(std::int64_t size, bool small);
    std::int64_t grow(Pool& pool, std::int64_t size, bool small);
    void split(Pool& pool, std::int64_t address, std::int64_t size);
    Blocks::iterator merge(Pool& pool, Blocks::iterator left, Blocks::iterator right);

    CachingAllocatorOptions options_;
    Blocks blocks_;
    Pool pools_[2];  ///< [0]: large requests, [1]: small requests
    std::int64_t next_address_ = 0;
    std::int64_t allocated_ = 0, reserved_ = 0;
    std::size_t segments_ = 0;
};

struct CachingAllocatorPeaks {
    Bytes allocated;  ///< peak of the bytes handed out; at least the peak of `simulate`
    Bytes reserved;   ///< peak of the bytes reserved; at least `allocated`
};

/// Returns the peaks of the allocator while the steps run. Residents are allocated first, one by one. A run
/// allocates its outputs in the op's order, then its workspace as one block. Fails if `simulate` fails. Cost:
/// that of `simulate`, and a logarithmic search for each tensor that is made.
Result<CachingAllocatorPeaks> caching_allocator_peaks(const Graph& graph, const std::vector<Step>& steps,
                                                      const CachingAllocatorOptions& options,
                                                      const Homes& homes = {},
                                                      const std::optional<Links>& links = {});

}  // namespace rematlas
