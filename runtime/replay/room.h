// The memory that a device must have for a training step. This is more than the bytes of the step's tensors,
// because the allocator holds memory in segments, and the driver needs some memory for itself.
#pragma once

#include <optional>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/device/device.h"

namespace rematlas {

struct Room {
    Bytes allocated;  ///< peak of the bytes that the allocator hands out, including residents
    Bytes reserved;   ///< peak of the bytes that the allocator holds of the device, including fragmentation
    Bytes context;    ///< bytes of the driver and of other processes
    /// Returns the memory that a device must have for the step if nothing else is alive there.
    Bytes device() const { return reserved + context; }
};

/// Predicts the memory with the model of the allocator (core/addresses/caching_allocator.h). Returns nothing
/// if the device's allocator does not hold memory in segments, or if the steps cannot be simulated. `links`:
/// the schedule's own links, if it has any.
std::optional<Room> room_for(const Graph& graph, const std::vector<Step>& steps, const DeviceRuntime& device,
                             const Homes& homes = {}, const std::optional<Links>& links = {});

/// Checks that the device still has the memory for the step. `residents`: bytes of the step that are on the
/// device already. Unused memory that the process holds counts as free, and so do the gaps in segments that
/// are in use. In a process that Rematlas started itself, the allocator begins in the state that `room_for`
/// assumes, so `reserved` bytes are needed; in another process only the `allocated` bytes are. The error
/// says how much is needed, and how much there is.
Result<void> check_room(const Room& room, Bytes residents, DeviceRuntime& device);

}  // namespace rematlas
