// Captures a model in another process, because this program does not load libtorch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

/// Returns `find_runtime_program()`. Fails if there is no such program; the message names `command`.
Result<std::filesystem::path> runtime_program(const std::string& command);

/// Runs `capture` with these arguments, of which the first is the model, and reads the graph that the process
/// writes to `output`. The process is rematlas-runtime, or the Python package if the model is a function. If
/// it fails, the error is its last line of output, or the signal that ended it.
Result<Graph> capture_in_process(const std::vector<std::string>& arguments,
                                 const std::filesystem::path& output);

}  // namespace rematlas
