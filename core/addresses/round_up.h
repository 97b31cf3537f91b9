// Rounds sizes up, as allocators do.
#pragma once

#include <cstdint>

namespace rematlas {

/// Returns the smallest multiple of `to` that is not below `bytes`. `to` must be positive, `bytes` at least
/// 0.
constexpr std::int64_t round_up(std::int64_t bytes, std::int64_t to) {
    return (bytes + to - 1) / to * to;
}

}  // namespace rematlas
