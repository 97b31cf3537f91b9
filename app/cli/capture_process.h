// Captures a model in another process, because this program does not load libtorch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

/// Returns `find_runtime_program()`. Fails if there is no such program; the message names `command`.
Result<std::filesystem::path> runtime_program(const std::string& command);

/// Runs `capture` with these arguments, the model first, in rematlas-runtime, or in the Python package if the
/// model is a function. Reads the graph that the process writes to `output`. Errors: the last line of the
/// process, or the signal that ended it.
Result<Graph> capture_in_process(const std::vector<std::string>& arguments,
                                 const std::filesystem::path& output);

}  // namespace rematlas
