// The option "milp" of solvers that solve mixed-integer programmes: the library that solves them.
#pragma once

#include "core/milp/milp.h"
#include "core/solving/option_reader.h"

namespace rematlas {

/// Rejects a library that this build lacks, if `is_used`.
void read_library(OptionReader& reader, MilpLibrary& library, bool is_used = true);

}  // namespace rematlas
