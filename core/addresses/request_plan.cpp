#include "core/addresses/request_plan.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/addresses/packing.h"
#include "core/addresses/round_up.h"

namespace rematlas {
namespace {

/// Knows, for each byte of the arena, the request that holds the byte, or the last request that held it if
/// the byte is free.
class Occupants {
  public:
    /// Gives the bytes low .. high-1 to `request`, and appends to `before` the requests that had any of these
    /// bytes.
    void replace(std::int64_t low, std::int64_t high, std::int32_t request,
                 std::vector<std::int32_t>& before) {
        auto at = pieces_.lower_bound(low);
        if (at != pieces_.begin()) {
            const auto left = std::prev(at);
            const Piece piece = left->second;
            if (piece.high > low) {
                before.push_back(piece.request);
                left->second.high = low;
                if (piece.high > high) pieces_.emplace(high, piece);
            }
        }
        for (; at != pieces_.end() && at->first < high; at = pieces_.erase(at)) {
            before.push_back(at->second.request);
            if (at->second.high > high) pieces_.emplace(high, at->second);
        }
        pieces_[low] = {high, request};
    }

  private:
    struct Piece {
        std::int64_t high;
        std::int32_t request;
    };
    std::map<std::int64_t, Piece> pieces_;  ///< the key is the lowest byte of the piece
};

}  // namespace

RequestPlan plan_requests(const std::vector<Request>& requests, const RequestOptions& options) {
    MemoryBlocks blocks;
    const auto moments = static_cast<std::int32_t>(2 * requests.size());
    for (const Request& request : requests) {
        const std::int32_t end = request.returned < 0 ? moments : request.returned;
        blocks.segments.push_back({request.taken, end - 1, round_up(request.bytes, options.alignment)});
        blocks.begin.push_back(static_cast<std::int32_t>(blocks.segments.size()));
    }
    Packing packing = pack(blocks, options.effort);
    RequestPlan plan{.offsets = std::move(packing.offsets),
                     .arena = packing.top,
                     .live_peak = live_peak(blocks),
                     .before = {}};
    Occupants occupants;
    std::vector<std::int32_t> before;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        before.clear();
        occupants.replace(plan.offsets[i], plan.offsets[i] + blocks.segments[i].width,
                          static_cast<std::int32_t>(i), before);
        std::sort(before.begin(), before.end());
        before.erase(std::unique(before.begin(), before.end()), before.end());
        plan.before.items.insert(plan.before.items.end(), before.begin(), before.end());
        plan.before.begin.push_back(static_cast<std::int32_t>(plan.before.items.size()));
    }
    return plan;
}

Result<void> check_requests(const std::vector<Request>& requests, const RequestPlan& plan,
                            std::int64_t alignment) {
    if (plan.offsets.size() != requests.size()) return Error{"requests: not every one has a place"};
    std::vector<std::size_t> held;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const std::int64_t low = plan.offsets[i], high = low + requests[i].bytes;
        const std::string name = "request " + std::to_string(i);
        if (low < 0 || low % alignment != 0) return Error{name + " is not aligned"};
        if (high > plan.arena) return Error{name + " does not fit in the arena"};
        std::erase_if(held, [&](std::size_t other) {
            return requests[other].returned >= 0 && requests[other].returned < requests[i].taken;
        });
        for (std::size_t other : held) {
            if (std::max(low, plan.offsets[other]) <
                std::min(high, plan.offsets[other] + requests[other].bytes))
                return Error{name + " overlaps request " + std::to_string(other)};
        }
        held.push_back(i);
    }
    return {};
}

}  // namespace rematlas
