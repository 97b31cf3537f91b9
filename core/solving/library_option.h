// The option "milp" of solvers that solve mixed-integer programs: the library that solves them.
#pragma once

#include "core/milp/milp.h"
#include "core/solving/option_reader.h"

namespace rematlas {

/// Reads the option. If `is_used`, rejects a library that this build lacks.
void read_library(OptionReader& reader, MilpLibrary& library, bool is_used = true);

}  // namespace rematlas
