// Captures a model in a process of its own: this program does not load libtorch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

/// `find_runtime_program()`. Errors: there is none; `command` is named.
Result<std::filesystem::path> runtime_program(const std::string& command);

/// Runs `capture` with these arguments, the model first, in rematlas-runtime, or in the Python package where
/// the model is a function, and reads the graph that it writes to `output`.
/// Errors: the last line that it said, or the signal that ended it.
Result<Graph> capture_in_process(const std::vector<std::string>& arguments,
                                 const std::filesystem::path& output);

}  // namespace rematlas
