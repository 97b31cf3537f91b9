// Measures how fast bytes move between a device and the host, by copying some.
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
        std::int64_t{64} << 20};  ///< bytes of a large copy; each way takes so much of the device and of the
                                  ///< host
    int copies = 8;               ///< number of copies in a row, for one figure
    int rounds = 5;               ///< number of figures, of which the median counts
    std::function<void(double fraction)> progress = {};
};

/// Measures the speed of each way alone; the speed of each way while the other way is busy all the time (at
/// most the former); the time of a small copy; and the size, a power of two, below which that time is more
/// than an eighth of a copy. The CPU has no links: there the speeds are those of copies within host memory.
/// Errors: no memory, or those of CUDA.
Result<Links> measure_links(DeviceRuntime& device, const LinkMeasurement& how = {});

}  // namespace rematlas
