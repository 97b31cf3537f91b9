// Reads the solver option "milp", which names the library that solves mixed-integer programs.
#pragma once

#include "core/milp/milp.h"
#include "core/solving/option_reader.h"

namespace rematlas {

/// If `is_used`, rejects a library that this build lacks.
void read_library(OptionReader& reader, MilpLibrary& library, bool is_used = true);

}  // namespace rematlas
