// The answer of `rematlas inspect` about a file with the steps of a training run, which
// `rematlas.apply(..., watch="run.jsonl")` writes.
#pragma once

#include <string>

#include "app/cli/command.h"

namespace rematlas {

/// Prints the answer. If the original ran some steps instead of the plan, prints at most `top` reasons for
/// this. Fails if the file cannot be read.
Result<Exit> inspect_run(const std::string& path, std::size_t top, const OutputFlags& flags);

}  // namespace rematlas
