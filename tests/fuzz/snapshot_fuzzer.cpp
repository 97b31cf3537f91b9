// Feeds arbitrary bytes to the reader of torch's measurements of memory, which must read them or refuse with
// one line. If it reads a snapshot, the live blocks at each moment must add up to the allocated bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/snapshots/measured_memory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace rematlas;
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    const Result<MeasuredMemory> read = parse_measured_memory(text, "snapshot");
    if (!read) {
        if (read.error().message.find('\n') != std::string::npos) std::abort();
        return 0;
    }
    for (const MeasuredDevice& device : read->devices) {
        for (const TraceMoment moment :
             {TraceMoment{0}, peak_moment(device.allocated), static_cast<TraceMoment>(device.events())}) {
            Bytes alive;
            for (const PlaceShare& share : alive_by_place(*read, device, moment)) {
                if (share_name(*read, share).empty()) std::abort();
                alive += share.bytes;
            }
            const bool snapshot = read->source == MeasuredMemory::Source::snapshot;
            if (snapshot && alive.value != device.allocated[moment]) std::abort();
        }
        const Fragmentation sums = fragmentation_of(device);
        if (sums.stuck > sums.inactive || sums.largest_free > sums.inactive) std::abort();
    }
    return 0;
}
