// Measures how fast bytes move between a device and the host, by copying sample data, and how fast the host
// updates parameters in its own memory, by updating sample parameters.
//
//     Result<Links> links = measure_links(*device, {.bytes = Bytes(64 << 20)});
//     Result<HostProfile> host = measure_host(Bytes(64 << 20));
#pragma once

#include <functional>

#include "core/base/links.h"
#include "core/base/result.h"
#include "core/costs/host_profile.h"
#include "runtime/device/device.h"

namespace rematlas {

struct LinkMeasurement {
    Bytes bytes{
        std::int64_t{64} << 20};  ///< bytes of a large copy; each direction takes as many bytes on the device
                                  ///< and on the host
    int copies = 8;               ///< number of consecutive copies in one measurement
    int rounds = 5;               ///< number of measurements, of which the median counts
    std::function<void(double fraction)> progress = {};
};

/// Measures four things: the speed of each direction alone; the speed of each direction while the other
/// direction is always busy (at most the speed alone); the time of a small copy (the latency); and the size,
/// rounded to a power of two, below which the latency is more than an eighth of a copy's time. On the CPU,
/// which has no links, bytes are copied within host memory. Fails if there is no memory, or with CUDA's
/// errors.
Result<Links> measure_links(DeviceRuntime& device, const LinkMeasurement& how = {});

/// Runs fused AdamW updates of f32 parameters with all of libtorch's threads. The median of five large
/// updates gives the bytes moved per second; the median of small ones gives the least time of an update.
/// `bytes`: size of the parameters; the gradients and each of two states take as many bytes again. Fails if
/// there is no memory.
Result<HostProfile> measure_host(Bytes bytes);

}  // namespace rematlas
