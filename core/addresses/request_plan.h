// Plans addresses for a recorded sequence of memory requests. When the same step runs again, an allocator
// hands out the planned addresses, request by request.
//
//     RequestPlan plan = plan_requests(requests, {.alignment = 64});
//     allocate(plan.arena);           // request i starts at plan.offsets[i]
//
// An address plan places the tensors and workspaces of a schedule. A request plan places the memory that
// kernels really ask for, from each request to its return. packing.h describes how blocks are packed.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/graph/flat_graph.h"

namespace rematlas {

/// A moment is the number of a request or of a return. Requests and returns are numbered together, from 0, in
/// the order in which they happen.
struct Request {
    std::int64_t bytes = 0;      ///< positive number of bytes
    std::int32_t taken = 0;      ///< moment of the request
    std::int32_t returned = -1;  ///< moment of the return; -1: held until the end
    bool operator==(const Request&) const = default;
};

struct RequestOptions {
    std::int64_t alignment = 64;       ///< positive; offsets and the bytes reserved for each request are
                                       ///< multiples of it
    std::int64_t effort = 60'000'000;  ///< most comparisons, as in AddressOptions
};

struct RequestPlan {
    std::vector<std::int64_t> offsets;  ///< offset of each request in the arena
    std::int64_t arena = 0;             ///< bytes of the arena that holds all requests
    std::int64_t live_peak = 0;         ///< most bytes held at once, with sizes rounded up; `arena` is at
                                        ///< least this
    /// Per request: the earlier requests that were the last to hold some of its bytes. All of them must be
    /// returned before this request is served. Requests that had these bytes even earlier need no check,
    /// because they were returned before the listed requests were taken.
    Lists before;
};

/// Returns a plan for the requests, which must be in the order in which they were taken. Equal arguments give
/// equal plans on every machine. Cost: that of `pack`.
RequestPlan plan_requests(const std::vector<Request>& requests, const RequestOptions& options = {});

/// Compares the place of each request with the places of all requests that are held at the same time. Fails
/// if two requests overlap (the message names the first two), if an offset is not aligned, or if a place
/// reaches outside the arena. Cost: the number of requests times the number held at once.
Result<void> check_requests(const std::vector<Request>& requests, const RequestPlan& plan,
                            std::int64_t alignment);

}  // namespace rematlas
