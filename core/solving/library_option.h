// The option "milp" of solvers that solve mixed-integer programmes: which library does.
#pragma once

#include "core/milp/milp.h"
#include "core/solving/option_reader.h"

namespace rematlas {

/// Rejects a library that this build lacks, where it is of use.
void read_library(OptionReader& reader, MilpLibrary& library, bool is_used = true);

}  // namespace rematlas
