// What a device must have for a step beside what is alive on it: more than the bytes of its tensors, because
// the allocator holds memory in segments, and the driver needs some for itself.
#pragma once

#include <optional>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/device/device.h"

namespace rematlas {

struct Room {
    Bytes allocated;  ///< peak of what the allocator hands out, residents included
    Bytes reserved;   ///< peak of what it holds of the device, fragmentation included
    Bytes context;    ///< held beside it: the driver's, and other processes'
    /// The memory of the device that the step fits into, where nothing else is alive.
    Bytes device() const { return reserved + context; }
};

/// By the model of the allocator (core/addresses/caching_allocator.h). Nothing where memory is not held in
/// segments, or the steps cannot be simulated. `links`: those of the schedule, where it has its own.
std::optional<Room> room_for(const Graph& graph, const std::vector<Step>& steps, const DeviceRuntime& device,
                             const Homes& homes = {}, const std::optional<Links>& links = {});

/// Whether the device still has it, where `residents` of the step's bytes are there already. Unused memory
/// that the process holds counts as free. In a process of our own the allocator is in the state that its
/// model begins with, so that what it will hold counts; in another's only what the tensors take. What is free
/// in segments in use counts as free. Errors: how much is needed, and what there is.
Result<void> check_room(const Room& room, Bytes residents, DeviceRuntime& device);

}  // namespace rematlas
