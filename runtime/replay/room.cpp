#include "runtime/replay/room.h"

#include <algorithm>

#include "core/addresses/caching_allocator.h"
#include "core/base/sizes.h"

namespace rematlas {

std::optional<Room> room_for(const Graph& graph, const std::vector<Step>& steps, const DeviceRuntime& device,
                             const Homes& homes, const std::optional<Links>& links) {
    const auto allocator = device.description().allocator;
    if (!allocator) return std::nullopt;
    const Result<CachingAllocatorPeaks> peaks =
        caching_allocator_peaks(graph, steps, *allocator, homes, links);
    if (!peaks) return std::nullopt;
    return Room{peaks->allocated, peaks->reserved, Bytes(device.context_bytes())};
}

Result<void> check_room(const Room& room, Bytes residents, DeviceRuntime& device) {
    const bool own_process = device.measures_unseen();
    const std::int64_t needed = (own_process ? room.reserved : room.allocated).value - residents.value;
    const auto left = [&] {
        const std::int64_t gaps = device.bytes_of_segments_in_use() - device.alive_bytes();
        return device.available_bytes() + std::max<std::int64_t>(0, gaps);
    };
    if (needed <= left()) return {};
    device.trim();
    const std::int64_t available = left();
    if (needed <= available) return {};
    return Error{
        "out of memory on " + device.name() + " before the step begins: it takes " +
            format_bytes(Bytes(needed)) + " more of the device (" + std::to_string(needed) +
            " bytes), which has " + format_bytes(Bytes(available)) + " left; it must have " +
            format_bytes(Bytes(device.context_bytes() + device.bytes_of_segments_in_use() + needed)) +
            " in all: free memory there, or give a smaller budget",
        ErrorKind::failure};
}

}  // namespace rematlas
