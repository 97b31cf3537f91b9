// How fast bytes may move between the device and the host, in the form that the bounds take.
#pragma once

#include <cstdint>

#include "core/base/links.h"

namespace rematlas {

/// The bounds hold for every link that is never faster than these rates. Where the rate of a link depends on
/// other copies, its fastest rate stands here. Every other limit (host memory, other copies) can only cost
/// time.
struct HostLinks {
    double to_host = 0, to_device = 0;  ///< bytes per second, each way; 0: nothing is copied that way

    /// True: residents never leave the device and results are there at the end. False: residents may be
    /// anywhere at any time, and results may end on the host.
    bool activations_only = false;
};

inline HostLinks fastest_of(const Links& links, bool activations_only = false) {
    return {.to_host = links.to_host_bytes_per_second,
            .to_device = links.to_device_bytes_per_second,
            .activations_only = activations_only};
}

/// A lower bound in nanoseconds on the time of a copy of so many bytes. The value is at most `most`, and
/// `most` where nothing is copied that way.
std::int64_t least_copy_time(std::int64_t bytes, double bytes_per_second, std::int64_t most);

}  // namespace rematlas
