// The answer of `rematlas inspect` about the steps of a training run, as written by `rematlas.apply(...,
// watch="run.jsonl")`.
#pragma once

#include <string>

#include "app/cli/command.h"

namespace rematlas {

/// Prints the answer. `top`: how many reasons why the original ran steps are shown. Errors: those of reading
/// the file.
Result<Exit> inspect_run(const std::string& path, std::size_t top, const OutputFlags& flags);

}  // namespace rematlas
