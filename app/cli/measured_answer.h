// What `rematlas inspect` says of a measurement by torch: a memory snapshot, or a profiler's trace.
#pragma once

#include <cstddef>
#include <string>

#include "app/cli/command.h"

namespace rematlas {

struct MeasuredQuestion {
    std::string path;
    std::string plan = {};  ///< a plan or a schedule to compare with; empty for none
    std::size_t top = 10;   ///< so many places of what was alive at the peak
};

/// Errors: of either file.
Result<Exit> inspect_measurement(const MeasuredQuestion& question, const OutputFlags& flags);

}  // namespace rematlas
