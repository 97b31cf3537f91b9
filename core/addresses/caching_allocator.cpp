#include "core/addresses/caching_allocator.h"

#include <algorithm>
#include <cassert>

#include "core/addresses/round_up.h"
#include "core/schedule/homes.h"
#include "core/schedule/simulate.h"

namespace rematlas {
namespace {

constexpr std::int64_t MiB = std::int64_t{1} << 20;
constexpr std::int64_t kLargestSmall = MiB;
constexpr std::int64_t kSmallSegment = 2 * MiB;
constexpr std::int64_t kSmallestOwnSegment = 10 * MiB;
constexpr std::int64_t kOwnSegmentGranularity = 2 * MiB;
/// Bytes of address space that are reserved for a segment that can grow.
constexpr std::int64_t kExpandableRange = std::int64_t{1} << 61;
constexpr std::int64_t kMostReserved = std::int64_t{1} << 60;

}  // namespace

std::int64_t CachingAllocator::allocate(std::int64_t bytes) {
    assert(bytes > 0);
    const std::int64_t size = round_up(bytes, cuda_granularity);
    const bool small = size <= kLargestSmall;
    Pool& pool = pools_[small];
    std::int64_t address = 0;
    if (const std::optional<std::int64_t> found = take_free(pool, size)) {
        address = *found;
    } else if (options_.expandable_segments) {
        address = grow(pool, size, small);
    } else {
        const std::int64_t segment = small                        ? kSmallSegment
                                     : size < kSmallestOwnSegment ? options_.large_segment
                                                                  : round_up(size, kOwnSegmentGranularity);
        address = new_segment(segment, small);
    }
    split(pool, address, size);
    allocated_ += blocks_.at(address).size;
    return address;
}

/// Takes the smallest free block that is large enough. The free end of a segment that can grow counts as
/// larger than any other block.
std::optional<std::int64_t> CachingAllocator::take_free(Pool& pool, std::int64_t size) {
    auto found = pool.free.lower_bound({size, -1});
    if (found == pool.free.end()) return std::nullopt;
    if (found->second + found->first == pool.end && std::next(found) != pool.free.end()) ++found;
    const std::int64_t address = found->second;
    pool.free.erase(found);
    blocks_.at(address).is_free = false;
    return address;
}

std::int64_t CachingAllocator::new_segment(std::int64_t size, bool small) {
    const std::int64_t address = next_address_;
    next_address_ += size;
    blocks_.emplace(address, Block{.size = size, .segment = address, .small = small});
    reserved_ += size;
    ++segments_;
    return address;
}

/// Makes a block at the end of the pool's only segment. The block consists of the free block at that end, if
/// there is one, and of newly mapped pages.
std::int64_t CachingAllocator::grow(Pool& pool, std::int64_t size, bool small) {
    const std::int64_t page = small ? kSmallSegment : options_.large_segment;
    if (pool.base < 0) {
        pool.base = pool.end = next_address_;
        next_address_ += kExpandableRange;
        ++segments_;
    }
    std::int64_t address = pool.end;
    if (address > pool.base) {
        const auto last = std::prev(blocks_.upper_bound(pool.end - 1));
        if (last->second.is_free) {
            address = last->first;
            pool.free.erase({last->second.size, address});
            blocks_.erase(last);
        }
    }
    const std::int64_t end = pool.base + round_up(address + size - pool.base, page);
    blocks_.emplace(address, Block{.size = end - address, .segment = pool.base, .small = small});
    reserved_ += end - pool.end;
    pool.end = end;
    return address;
}

void CachingAllocator::split(Pool& pool, std::int64_t address, std::int64_t size) {
    Block& block = blocks_.at(address);
    const std::int64_t remaining = block.size - size;
    const bool splits = block.small || options_.expandable_segments ? remaining >= cuda_granularity
                                                                    : remaining > kLargestSmall;
    if (!splits) return;
    block.size = size;
    blocks_.emplace(address + size, Block{remaining, block.segment, block.small, /*is_free=*/true});
    pool.free.insert({remaining, address + size});
}

CachingAllocator::Blocks::iterator CachingAllocator::merge(Pool& pool, Blocks::iterator left,
                                                           Blocks::iterator right) {
    for (const auto& block : {left, right})
        if (block->second.is_free) pool.free.erase({block->second.size, block->first});
    left->second.size += right->second.size;
    blocks_.erase(right);
    return left;
}

void CachingAllocator::free(std::int64_t address) {
    auto block = blocks_.find(address);
    assert(block != blocks_.end() && !block->second.is_free);
    Pool& pool = pools_[block->second.small];
    allocated_ -= block->second.size;
    const auto joins = [&](Blocks::iterator other) {
        return other->second.is_free && other->second.segment == block->second.segment;
    };
    if (const auto next = std::next(block); next != blocks_.end() && joins(next))
        block = merge(pool, block, next);
    if (block != blocks_.begin() && joins(std::prev(block))) block = merge(pool, std::prev(block), block);
    block->second.is_free = true;
    pool.free.insert({block->second.size, block->first});
}

std::int64_t CachingAllocator::size_at(std::int64_t address) const {
    return blocks_.at(address).size;
}

namespace {

/// Goes through the steps, which must be valid, and makes their requests to the allocator.
class Requests {
  public:
    Requests(const Graph& graph, const CachingAllocatorOptions& options, const Homes& homes)
        : graph_(graph), allocator_(options), place_(graph.tensors.size(), kNone) {
        const IdVector<TensorId, char> there = on_device_at_start(graph, homes);
        for (TensorId t : graph.tensors.ids())
            if (there[t]) make(t);
    }

    void play(const Step& step) {
        if (step.runs())
            execute(graph_.ops[step.op()], step.kind == StepKind::run_inplace);
        else if (step.kind == StepKind::free)
            drop(std::exchange(place_[step.tensor()], kNone));
        else if (step.kind == StepKind::fetch)
            make(step.tensor());
    }

    /// Says whether more bytes are reserved than any device has. If so, no further request is made, because
    /// addresses could overflow.
    bool too_large() const { return allocator_.reserved() > kMostReserved; }
    CachingAllocatorPeaks peaks() const { return peaks_; }

  private:
    static constexpr std::int64_t kNone = -1;

    void execute(const Op& op, bool in_place) {
        std::vector<std::int64_t> replaced;  // places of older copies of the outputs, held while the op runs
        for (TensorId t : op.outputs) {
            replaced.push_back(std::exchange(place_[t], kNone));
            if (in_place) take_over(op, t);
        }
        for (TensorId t : op.outputs)
            if (place_[t] == kNone) make(t);
        drop(request(op.workspace));
        for (std::int64_t place : replaced) drop(place);
        if (!in_place) return;
        for (const InplacePair& pair : op.inplace) drop(std::exchange(place_[pair.in], kNone));
    }

    /// Puts the output at the address of its input if it fits there.
    void take_over(const Op& op, TensorId out) {
        for (const InplacePair& pair : op.inplace) {
            if (pair.out == out && graph_.tensors[out].bytes <= graph_.tensors[pair.in].bytes)
                place_[out] = std::exchange(place_[pair.in], kNone);
        }
    }

    void make(TensorId t) { place_[t] = request(graph_.tensors[t].bytes); }

    std::int64_t request(Bytes bytes) {
        if (bytes.value == 0 || too_large()) return kNone;
        const std::int64_t place = allocator_.allocate(bytes.value);
        peaks_.allocated = std::max(peaks_.allocated, Bytes(allocator_.allocated()));
        peaks_.reserved = std::max(peaks_.reserved, Bytes(allocator_.reserved()));
        return place;
    }
    void drop(std::int64_t place) {
        if (place != kNone) allocator_.free(place);
    }

    const Graph& graph_;
    CachingAllocator allocator_;
    IdVector<TensorId, std::int64_t> place_;
    CachingAllocatorPeaks peaks_;
};

}  // namespace

Result<CachingAllocatorPeaks> caching_allocator_peaks(const Graph& graph, const std::vector<Step>& steps,
                                                      const CachingAllocatorOptions& options,
                                                      const Homes& homes, const std::optional<Links>& links) {
    if (const Result<Simulation> possible = simulate(graph, steps, homes, links); !possible)
        return possible.error();
    Requests requests(graph, options, homes);
    for (const Step& step : steps) requests.play(step);
    if (requests.too_large()) return Error{"the tensors are too large for a device"};
    return requests.peaks();
}

}  // namespace rematlas
