// The memory that a device must have for a step beside the bytes that are alive on it. This is more than
// the bytes of the step's tensors, because the allocator holds memory in segments, and the driver needs
// some for itself.
#pragma once

#include <optional>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/device/device.h"

namespace rematlas {

struct Room {
    Bytes allocated;  ///< peak of the bytes that the allocator hands out, residents included
    Bytes reserved;   ///< peak of the bytes that the allocator holds of the device, fragmentation included
    Bytes context;    ///< bytes of the driver and of other processes
    /// The memory of a device into which the step fits if nothing else is alive there.
    Bytes device() const { return reserved + context; }
};

/// Predicts the memory by the model of the allocator (core/addresses/caching_allocator.h). Returns nothing
/// if memory is not held in segments, or if the steps cannot be simulated. `links`: those of the schedule,
/// if it has its own.
std::optional<Room> room_for(const Graph& graph, const std::vector<Step>& steps, const DeviceRuntime& device,
                             const Homes& homes = {}, const std::optional<Links>& links = {});

/// Checks that the device still has the memory, if `residents` of the step's bytes are there already.
/// Unused memory that the process holds counts as free, and so do the gaps in segments that are in use. In
/// a process of Rematlas' own, the allocator is in the state with which its model begins, so that
/// `reserved` counts; in another process only the bytes of tensors count. Errors: how much is needed, and
/// how much there is.
Result<void> check_room(const Room& room, Bytes residents, DeviceRuntime& device);

}  // namespace rematlas
