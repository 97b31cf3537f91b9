// How fast bytes may move between the device and the memory of the host, as bounds take it.
#pragma once

#include <cstdint>

#include "core/base/links.h"

namespace rematlas {

/// Bounds hold for every link that is never faster than this: where a rate depends on what else moves, it is
/// the fastest. Everything else that a link has (limits of host memory, other copies) can only cost time.
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

/// Nanoseconds that no copy of so many bytes takes less than, or `most` where it takes longer.
std::int64_t least_copy_time(std::int64_t bytes, double bytes_per_second, std::int64_t most);

}  // namespace rematlas
