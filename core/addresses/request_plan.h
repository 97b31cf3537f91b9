// Addresses for a recorded sequence of requests for memory: what an allocator hands out, request by request,
// when the same step runs again.
//
//     RequestPlan plan = plan_requests(requests, {.alignment = 64});
//     allocate(plan.arena);           // request i lies at plan.offsets[i]
//
// Where an address plan places tensors and workspaces as the schedule sees them, this one places what kernels
// really ask for, from the moment they ask to the moment they give back. How blocks are packed stands in
// packing.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/graph/flat_graph.h"

namespace rematlas {

/// Moments count requests and returns together, from 0.
struct Request {
    std::int64_t bytes = 0;      ///< positive
    std::int32_t taken = 0;      ///< its own moment
    std::int32_t returned = -1;  ///< its own moment; -1 when it is still held at the end
    bool operator==(const Request&) const = default;
};

struct RequestOptions {
    std::int64_t alignment = 64;       ///< bytes, positive; of offsets and of the room each request takes
    std::int64_t effort = 60'000'000;  ///< as in AddressOptions
};

struct RequestPlan {
    std::vector<std::int64_t> offsets;  ///< per request
    std::int64_t arena = 0;             ///< bytes that hold them all
    std::int64_t live_peak = 0;         ///< the most held at once, sizes rounded up: `arena` is never less
    /// Per request, who had bytes of its place last before it: all of them must have been returned when it is
    /// taken. Whoever had them earlier was returned when these were taken.
    Lists before;
};

/// `requests` in the order they are taken. Equal arguments give equal plans on every machine. Cost: that of
/// `pack`.
RequestPlan plan_requests(const std::vector<Request>& requests, const RequestOptions& options = {});

/// Compares every place with every other that is held at the same time. Errors: the first two that overlap,
/// an offset that is not aligned, a place that leaves the arena. Cost: requests times what is held.
Result<void> check_requests(const std::vector<Request>& requests, const RequestPlan& plan,
                            std::int64_t alignment);

}  // namespace rematlas
