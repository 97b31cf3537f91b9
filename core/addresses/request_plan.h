// Addresses for a recorded sequence of requests for memory: an allocator hands them out, request by request,
// when the same step runs again.
//
//     RequestPlan plan = plan_requests(requests, {.alignment = 64});
//     allocate(plan.arena);           // request i lies at plan.offsets[i]
//
// An address plan places the tensors and workspaces of a schedule. A request plan places the memory that
// kernels really ask for, from the request to the return. packing.h tells how blocks are packed.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/graph/flat_graph.h"

namespace rematlas {

/// Moments count requests and returns together, from 0.
struct Request {
    std::int64_t bytes = 0;      ///< positive
    std::int32_t taken = 0;      ///< moment of the request, which no other event has
    std::int32_t returned = -1;  ///< moment of the return, which no other event has; -1: held at the end
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
    /// Per request, the requests that had bytes of its place last before it. All of them must have been
    /// returned when it is taken. Each earlier owner of these bytes was returned before those requests were
    /// taken.
    Lists before;
};

/// `requests` stand in the order in which they are taken. Equal arguments give equal plans on every machine.
/// Cost: that of `pack`.
RequestPlan plan_requests(const std::vector<Request>& requests, const RequestOptions& options = {});

/// Compares every place with every other that is held at the same time. Errors: the first two that overlap,
/// an offset that is not aligned, a place that leaves the arena. Cost: the number of requests times the
/// number held at once.
Result<void> check_requests(const std::vector<Request>& requests, const RequestPlan& plan,
                            std::int64_t alignment);

}  // namespace rematlas
