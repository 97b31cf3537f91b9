#include "core/bounds/subset_sum.h"

#include <algorithm>
#include <numeric>

namespace rematlas {
namespace {

/// Sets bits to bits | (bits << by); bits beyond the end are lost.
void add_shifted(std::vector<std::uint64_t>& bits, std::int64_t by) {
    const std::size_t words = static_cast<std::size_t>(by / 64), rest = static_cast<std::size_t>(by % 64);
    for (std::size_t i = bits.size(); i-- > words;) {
        std::uint64_t moved = bits[i - words] << rest;
        if (rest > 0 && i > words) moved |= bits[i - words - 1] >> (64 - rest);
        bits[i] |= moved;
    }
}

}  // namespace

std::int64_t largest_subset_sum(std::vector<std::int64_t> sizes, std::int64_t limit) {
    sizes.erase(
        std::remove_if(sizes.begin(), sizes.end(), [&](std::int64_t s) { return s <= 0 || s > limit; }),
        sizes.end());
    if (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) <= limit)
        return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    std::int64_t divisor = 0;
    for (std::int64_t s : sizes) divisor = std::gcd(divisor, s);
    const std::int64_t units = limit / divisor;
    constexpr std::int64_t kMostWork = 20'000'000;  // words that are moved: about 10 ms
    if (units > 4'000'000 || units / 64 * static_cast<std::int64_t>(sizes.size()) > kMostWork)
        return units * divisor;
    std::vector<std::uint64_t> bits(static_cast<std::size_t>(units / 64) + 1, 0);
    bits[0] = 1;
    for (std::int64_t s : sizes) add_shifted(bits, s / divisor);
    for (std::int64_t u = units; u > 0; --u) {
        if (bits[static_cast<std::size_t>(u / 64)] >> (u % 64) & 1) return u * divisor;
    }
    return 0;
}

}  // namespace rematlas
