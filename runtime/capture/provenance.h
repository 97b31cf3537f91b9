// Where in the model's source an op comes from.
#pragma once

#include <string>

namespace rematlas {

/// The module path of the op that the TorchScript interpreter runs on this thread, e.g. `layer1.0.conv1`; empty for the root.
std::string current_module_path();

/// "model.py:12", the innermost line of the TorchScript code that runs on this thread; empty outside it.
std::string current_source_line();

}  // namespace rematlas
