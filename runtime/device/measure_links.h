// How fast bytes move between a device and the host, by copying some.
//
//     Result<Links> links = measure_links(*device, {.bytes = Bytes(64 << 20)});
#pragma once

#include <functional>

#include "core/base/links.h"
#include "core/base/result.h"
#include "runtime/device/device.h"

namespace rematlas {

struct LinkMeasurement {
    Bytes bytes{
        std::int64_t{64} << 20};  ///< of a large copy; each way takes so much of the device and of the host
    int copies = 8;               ///< in a row, for one figure
    int rounds = 5;               ///< the median of so many figures counts
    std::function<void(double fraction)> progress = {};
};

/// Each way alone; each way while the other way is busy all the time, at most the former; what a small copy takes;
/// and the size, a power of two, below which that is more than an eighth of a copy. On the CPU, which has no links,
/// those of copies within host memory. Errors: no memory, or of CUDA.
Result<Links> measure_links(DeviceRuntime& device, const LinkMeasurement& how = {});

}  // namespace rematlas
