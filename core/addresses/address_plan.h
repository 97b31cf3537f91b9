// Planned addresses: where in one arena each tensor and workspace of a schedule lies, so that training with
// the schedule allocates once.
//
//     Result<AddressPlan> plan = plan_addresses(graph, schedule.steps, {.alignment = 512});
//     if (!plan) return plan.error();
//     allocate(plan->arena);  // the first tensor of step 0 starts at plan->placements.front().offset
//
// A tensor that is made again or fetched again has several lifetimes, each with its own place. An output of
// a run in place starts where its input starts, whatever their sizes: the room to grow is planned. packing.h
// tells how blocks are packed, and the sources.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

struct AddressOptions {
    /// A positive number of bytes. Offsets and the room of each tensor are multiples of it; `alignment_for`
    /// gives that of a graph.
    std::int64_t alignment = 64;
    Homes homes = {};                 ///< of the schedule
    std::optional<Links> links = {};  ///< of the schedule
    bool residents = true;  ///< false: residents live with the model; only copies fetched later have places
    std::int64_t effort = 100'000'000;  ///< comparisons spent on improving greedy fits, about 1 ns each
};

/// One lifetime of a tensor, or the workspace of one run.
struct Placement {
    enum class Kind : std::uint8_t { tensor, workspace };
    Kind kind = Kind::tensor;
    std::int32_t id = -1;     ///< the tensor, or for a workspace its op
    std::int32_t first = -1;  ///< the step that takes it; -1 for residents, there from the beginning
    std::int32_t end = 0;     ///< the first step that finds it gone; the number of steps if none does
    Bytes offset;
    Bytes bytes;  ///< its own, not rounded
    bool operator==(const Placement&) const = default;
};

struct AddressPlan {
    Bytes arena;              ///< holds all placements; a multiple of the alignment
    Bytes live_peak;          ///< the most bytes of placements alive at once, as the simulator counts
    Bytes aligned_live_peak;  ///< the same with every size rounded up: `arena` is never less
    std::vector<Placement> placements;  ///< in the order they are taken: residents, then step by step the
                                        ///< outputs in the op's order, then the workspace
};

/// Errors: those of `simulate` (the steps are not possible on the graph), an alignment below 1, and sizes
/// whose sum does not fit in 61 bits. Equal arguments give equal plans on every machine. Cost: that of
/// `pack`.
Result<AddressPlan> plan_addresses(const Graph& graph, const std::vector<Step>& steps,
                                   const AddressOptions& options = {});

/// The alignment of the graph's device; the default of AddressOptions where the graph names no device.
std::int64_t alignment_for(const Graph& graph);

/// The plan as it is kept with a schedule.
Addresses addresses_from(const AddressPlan& plan, std::int64_t alignment);

}  // namespace rematlas
