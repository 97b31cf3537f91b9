// The option "milp" of both Checkmate solvers: which library solves their programmes.
#pragma once

#include "core/milp/milp.h"
#include "core/solving/option_reader.h"

namespace rematlas {

/// Rejects a library that this build lacks.
void read_library(OptionReader& reader, MilpLibrary& library);

}  // namespace rematlas
