// Examines the system, the programs, the settings and the cache folder.
#pragma once

#include <chrono>

#include "app/cli/doctor/diagnosis.h"

namespace rematlas {

SystemFacts look_at_system();

/// Returns the GPUs that nvidia-smi lists. Problems are added to `complaints`.
std::vector<FoundDevice> look_at_driver(std::chrono::seconds limit, Complaints& complaints);

FoundProgram look_at_runtime_program(std::chrono::seconds limit, Complaints& complaints);
FoundProgram look_at_layout_program(std::chrono::seconds limit, Complaints& complaints);
FoundProgram look_at_explorer(std::chrono::seconds limit, Complaints& complaints);

std::vector<Setting> look_at_settings(std::vector<Complaint>& wrong);
CacheFacts look_at_cache(std::vector<Complaint>& wrong);

}  // namespace rematlas
