// Captures a model in another process, because this program does not load libtorch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

/// Returns the path of rematlas-runtime. Fails if there is no such program; the message names `command`.
Result<std::filesystem::path> runtime_program(const std::string& command);

/// Runs the command `capture` in another process, and reads the graph that the process writes to `output`.
/// The first argument is the model. The process runs rematlas-runtime, or the Python package if the model is
/// a function. If the process fails, the error is the last line of its standard error, or names the signal
/// that ended the process.
Result<Graph> capture_in_process(const std::vector<std::string>& arguments,
                                 const std::filesystem::path& output);

}  // namespace rematlas
