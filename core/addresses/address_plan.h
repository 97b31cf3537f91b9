// Planned addresses: the place of each tensor and workspace of a schedule in one arena. Training with the
// schedule then allocates memory once.
//
//     Result<AddressPlan> plan = plan_addresses(graph, schedule.steps, {.alignment = 512});
//     if (!plan) return plan.error();
//     allocate(plan->arena);  // the first tensor of step 0 starts at plan->placements.front().offset
//
// A tensor that is recomputed or fetched has several lifetimes, each with its own place. An output of a run
// in place starts at the address of its input, even if the output is larger: the plan then leaves enough
// space behind the input. packing.h describes how blocks are packed, and names the sources.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

struct AddressOptions {
    /// Positive number of bytes. All offsets are multiples of it, and so are the bytes that are reserved for
    /// a tensor. `alignment_for` returns the alignment for a graph.
    std::int64_t alignment = 64;
    Homes homes = {};                 ///< homes of tensors in the schedule
    std::optional<Links> links = {};  ///< links of the schedule; absent: links of the graph's device
    /// If true, residents have addresses, too. If false, the model itself holds the residents; only the
    /// copies that `fetch` steps make of them have addresses.
    bool residents = true;
    /// The most comparisons (about 1 ns each) that are spent on improving the packing (packing.h).
    std::int64_t effort = 100'000'000;
};

/// One lifetime of a tensor, or the workspace of one run.
struct Placement {
    enum class Kind : std::uint8_t { tensor, workspace };
    Kind kind = Kind::tensor;
    std::int32_t id = -1;     ///< the tensor; for a workspace, its op
    std::int32_t first = -1;  ///< first step of the lifetime; -1 for residents that exist from the beginning
    std::int32_t end = 0;     ///< first step after the lifetime; the number of steps if it never ends
    Bytes offset;
    Bytes bytes;  ///< exact size, not rounded
    bool operator==(const Placement&) const = default;
};

struct AddressPlan {
    Bytes arena;              ///< size of the arena that holds all placements; a multiple of the alignment
    Bytes live_peak;          ///< the most bytes of placements alive at once, as counted by the simulator
    Bytes aligned_live_peak;  ///< `live_peak` with all sizes rounded up; `arena` is at least this
    /// Residents come first. Then come the placements of each step: for a run its outputs in the op's order,
    /// then its workspace; for a fetch the tensor.
    std::vector<Placement> placements;
};

/// Fails if `simulate` fails (the steps are not valid for the graph), if the alignment is below 1, or if the
/// sizes of the tensors add up to more than 2e18 bytes. Equal arguments give equal plans on every machine.
/// Cost: that of `pack`.
Result<AddressPlan> plan_addresses(const Graph& graph, const std::vector<Step>& steps,
                                   const AddressOptions& options = {});

/// Returns the alignment of the graph's device, or the default of AddressOptions if the graph names no
/// device.
std::int64_t alignment_for(const Graph& graph);

/// Returns the plan in the form that is stored in a schedule.
Addresses addresses_from(const AddressPlan& plan, std::int64_t alignment);

}  // namespace rematlas
