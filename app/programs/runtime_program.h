// Finds the program that captures and trains. It needs libtorch, so it is not installed everywhere.
#pragma once

#include <filesystem>

namespace rematlas {

/// Returns $REMATLAS_RUNTIME if set, else `rematlas-runtime` next to the running program, else the program of
/// the Python package in the active environment ($VIRTUAL_ENV) or in an environment whose programs are on the
/// $PATH. Returns an empty path if there is no such program.
std::filesystem::path find_runtime_program();

}  // namespace rematlas
