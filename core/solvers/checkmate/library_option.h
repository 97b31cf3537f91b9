// The option "milp" of both Checkmate solvers: which library solves their programmes.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/milp/milp.h"
#include "core/solvers/option_reader.h"

namespace rematlas {

/// Reads "milp" as the last option. Errors: the reader's, and a library that this build lacks.
Result<void> finish_with_library(OptionReader& reader, std::string_view solver, MilpLibrary& library);

}  // namespace rematlas
