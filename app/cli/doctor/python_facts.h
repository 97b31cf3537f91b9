// Examines the Python interpreter that the commands start: its torch, its GPUs, and the package of Rematlas.
#pragma once

#include <chrono>

#include "app/cli/doctor/diagnosis.h"

namespace rematlas {

extern const char* const python_probe;  ///< the probe: the text of the script python_probe.py

/// Runs the probe. Problems are added to `complaints`.
PythonFacts look_at_python(std::chrono::seconds limit, Complaints& complaints);

}  // namespace rematlas
