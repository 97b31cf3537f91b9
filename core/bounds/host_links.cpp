#include "core/bounds/host_links.h"

#include <algorithm>

namespace rematlas {

std::int64_t least_copy_time(std::int64_t bytes, double bytes_per_second, std::int64_t most) {
    if (!(bytes_per_second > 0)) return most;
    const double time = static_cast<double>(bytes) / bytes_per_second * 1e9;
    return static_cast<std::int64_t>(std::min(time, static_cast<double>(most)));
}

}  // namespace rematlas
