// Measured times in the form that plans and evictions use.
//
// Plans depend on times that one machine measured, so a test that asserts a plan could pass on one machine
// and fail on another. With REMATLAS_SCALE_MEASURED_TIMES=SEED in the environment, which only the project's
// tests set (`make test-clocks`), each kind of work counts as if it took 0.2 to 5 times as long. The factor
// depends only on the seed and the kind of work.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/ids.h"

namespace rematlas {

/// `kind` names the measured work, e.g. the signature of an op. Throws std::invalid_argument if the
/// environment variable is not a number.
Nanoseconds counted_time(std::string_view kind, Nanoseconds measured);

/// Returns the factor for times of this kind of work: between 0.2 and 5, and above 1 for about half of all
/// kinds. The factor is the same on all machines.
double time_scale(std::uint64_t seed, std::string_view kind);

}  // namespace rematlas
