// Measured times as plans and evictions count them.
//
// A plan follows from times that one machine measured, so a test that asserts the plan passes on one
// machine and fails on the next. With REMATLAS_SCALE_MEASURED_TIMES=SEED in the environment, which only the
// project's tests set (`make test-clocks`), each kind of work is counted as if the machine took 0.2 to 5
// times as long for it; the factor follows from the seed and the kind of work alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/ids.h"

namespace rematlas {

/// `kind` names the measured work, e.g. the signature of an op. Throws std::invalid_argument if the
/// environment variable holds something other than a number.
Nanoseconds counted_time(std::string_view kind, Nanoseconds measured);

/// The factor, between 0.2 and 5, as often above 1 as below. It is equal on all machines.
double time_scale(std::uint64_t seed, std::string_view kind);

}  // namespace rematlas
