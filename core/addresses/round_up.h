// Sizes rounded up as allocators round them.
#pragma once

#include <cstdint>

namespace rematlas {

/// The smallest multiple of `to` that is not below `bytes`; both are positive or `bytes` is 0.
constexpr std::int64_t round_up(std::int64_t bytes, std::int64_t to) {
    return (bytes + to - 1) / to * to;
}

}  // namespace rematlas
