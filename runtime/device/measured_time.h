// Measured times as plans and evictions count them.
//
// What a plan looks like follows from times that one machine measured, so a test that asserts it passes on
// one machine and fails on the next. With REMATLAS_SCALE_MEASURED_TIMES=SEED in the environment, which only the
// project's tests set (`make test-clocks`), each kind of work is counted as if the machine took 0.2 to 5 times
// as long for it; the factor follows from the seed and the kind of work alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/ids.h"

namespace rematlas {

/// `kind` says which work was measured, e.g. the signature of an op. Throws std::invalid_argument where the
/// environment variable holds something else than a number.
Nanoseconds counted_time(std::string_view kind, Nanoseconds measured);

/// The factor, of 0.2 to 5, as often above 1 as below. Equal on each machine.
double time_scale(std::uint64_t seed, std::string_view kind);

}  // namespace rematlas
