// What `rematlas inspect` says of the steps of a training run, as `rematlas.apply(..., watch="run.jsonl")`
// wrote them.
#pragma once

#include <string>

#include "app/cli/command.h"

namespace rematlas {

/// `top`: so many reasons why the original ran steps. Errors: of the file.
Result<Exit> inspect_run(const std::string& path, std::size_t top, const OutputFlags& flags);

}  // namespace rematlas
