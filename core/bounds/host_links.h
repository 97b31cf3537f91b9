// The speeds of copies between device and host, in the form that the bounds use.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/links.h"

namespace rematlas {

/// The bounds hold for every link that is never faster than these rates. If the rate of a link depends on
/// other copies, use its fastest rate. All other limits (host memory, other copies) can only cost time.
struct HostLinks {
    /// Bytes per second in each direction; 0: no copies in that direction.
    double to_host = 0, to_device = 0;

    /// true: residents never leave the device, and results are on the device at the end. false: residents may
    /// be anywhere at any time, and results may end on the host.
    bool activations_only = false;
};

inline HostLinks fastest_of(const Links& links, bool activations_only = false) {
    return {.to_host = links.to_host_bytes_per_second,
            .to_device = links.to_device_bytes_per_second,
            .activations_only = activations_only};
}

/// Returns a lower bound in nanoseconds on the time of a copy of `bytes` bytes. The value is at most `most`,
/// and it is `most` if nothing can be copied in that direction.
inline std::int64_t least_copy_time(std::int64_t bytes, double bytes_per_second, std::int64_t most) {
    if (!(bytes_per_second > 0)) return most;
    const double time = static_cast<double>(bytes) / bytes_per_second * 1e9;
    return static_cast<std::int64_t>(std::min(time, static_cast<double>(most)));
}

}  // namespace rematlas
