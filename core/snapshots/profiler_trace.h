// Reads the memory events of a Chrome trace by torch.profiler (profile(profile_memory=True),
// export_chrome_trace): allocations and frees, with the totals of each device. The events have no call
// stacks.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/snapshots/measured_memory.h"

namespace rematlas {

/// Reads the file as a stream. Errors: one line that names the file and the byte. If a trace has no memory
/// events, the line explains how to record them.
Result<MeasuredMemory> read_profiler_trace(const std::filesystem::path& path, std::stop_token stop = {});
Result<MeasuredMemory> parse_profiler_trace(std::string_view text, const std::string& name);

}  // namespace rematlas
