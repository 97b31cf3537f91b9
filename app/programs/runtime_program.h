// Where the program is that captures and trains: it needs libtorch, so that it is not everywhere.
#pragma once

#include <filesystem>

namespace rematlas {

/// $REMATLAS_RUNTIME when set, else `rematlas-runtime` beside the running program, else that of the Python package in
/// the active environment ($VIRTUAL_ENV) or in one whose programs are on the $PATH. Empty when there is none.
std::filesystem::path find_runtime_program();

}  // namespace rematlas
