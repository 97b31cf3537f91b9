#include "core/addresses/packing.h"

#include <algorithm>
#include <numeric>

#include "core/addresses/ejection_search.h"
#include "core/addresses/order_search.h"

namespace rematlas {

std::int64_t live_peak(const MemoryBlocks& blocks) {
    std::int32_t moments = 0;
    for (const BlockSegment& s : blocks.segments) moments = std::max(moments, s.last + 1);
    std::vector<std::int64_t> change(static_cast<std::size_t>(moments) + 1, 0);
    for (const BlockSegment& s : blocks.segments) {
        change[s.first] += s.width;
        change[s.last + 1] -= s.width;
    }
    std::int64_t alive = 0, peak = 0;
    for (std::int64_t c : change) peak = std::max(peak, alive += c);
    return peak;
}

std::int64_t grain(const MemoryBlocks& blocks) {
    std::int64_t divisor = 0;
    for (const BlockSegment& s : blocks.segments) divisor = std::gcd(divisor, s.width);
    return std::max<std::int64_t>(divisor, 1);
}

Packing pack(const MemoryBlocks& blocks, std::int64_t effort) {
    if (blocks.size() == 0) return {};
    const std::int64_t floor = live_peak(blocks);
    std::int64_t spent = 0;
    Packing best = pack_by_orders(blocks, floor, {.seed = 1, .effort = effort / 3}, spent);
    Packing packing = best;
    for (std::uint64_t round = 1; best.top > floor && spent < effort; ++round) {
        const SearchLimits ejection{.seed = round, .effort = effort - spent, .patience = effort / 10};
        lower_by_ejection(blocks, floor, ejection, packing, spent);
        if (packing.top < best.top) best = packing;
        if (best.top <= floor || spent >= effort) break;
        packing = pack_by_orders(blocks, floor, {.seed = round + 1, .effort = effort / 100}, spent);
    }
    return best;
}

}  // namespace rematlas
