// The memory events of a Chrome trace by torch.profiler (profile(profile_memory=True),
// export_chrome_trace): what was allocated and given back, with the totals of each device. They carry no
// stacks.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/snapshots/measured_memory.h"

namespace rematlas {

/// The file is read as a stream. Errors: one line that names the file and the byte, and where a trace
/// has no memory events, what records them.
Result<MeasuredMemory> read_profiler_trace(const std::filesystem::path& path, std::stop_token stop = {});
Result<MeasuredMemory> parse_profiler_trace(std::string_view text, const std::string& name);

}  // namespace rematlas
