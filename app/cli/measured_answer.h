// The answer of `rematlas inspect` about a measurement by torch: a memory snapshot, or a profiler's trace.
#pragma once

#include <cstddef>
#include <string>

#include "app/cli/command.h"

namespace rematlas {

struct MeasuredQuestion {
    std::string path;
    std::string plan = {};  ///< a plan or a schedule to compare with; empty: none
    std::size_t top = 10;   ///< number of source lines that are listed with their memory at the peak
};

/// Prints the answer. Fails if the measurement or the plan cannot be read.
Result<Exit> inspect_measurement(const MeasuredQuestion& question, const OutputFlags& flags);

}  // namespace rematlas
