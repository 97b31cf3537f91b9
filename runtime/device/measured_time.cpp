#include "runtime/device/measured_time.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

#include "core/base/numbers.h"

namespace rematlas {
namespace {

constexpr const char* variable = "REMATLAS_SCALE_MEASURED_TIMES";

std::optional<std::uint64_t> seed_in_environment() {
    const char* text = std::getenv(variable);
    if (!text || !*text) return std::nullopt;
    const auto seed = number_from<std::uint64_t>(text);
    if (!seed)
        throw std::invalid_argument(std::string(variable) + " is \"" + text +
                                    "\": give a whole number, or unset it");
    return seed;
}

/// The finalizer of splitmix64.
std::uint64_t mixed(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

/// FNV-1a, which gives the same hash on each machine, unlike std::hash.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
    return hash;
}

}  // namespace

Nanoseconds counted_time(std::string_view kind, Nanoseconds measured) {
    static const std::optional<std::uint64_t> seed = seed_in_environment();
    if (!seed) return measured;
    const double scaled = double(measured.value) * time_scale(*seed, kind);
    return Nanoseconds(std::max<std::int64_t>(1, std::llround(scaled)));
}

double time_scale(std::uint64_t seed, std::string_view kind) {
    const double uniform = double(mixed(mixed(seed + 1) ^ hash_of(kind)) >> 11) * 0x1p-53;  // in [0, 1)
    return std::pow(5, 2 * uniform - 1);
}

}  // namespace rematlas
