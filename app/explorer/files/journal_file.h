// The file of a PlanJournal (plan_journal.h describes its lines). Lines are added at the end, and lines that
// no longer count are removed from time to time. Several programs may have the file open: a lock keeps them
// from writing at the same time.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace rematlas::explorer {

/// Adds a line at the end of the file, which is made if it does not exist. If the last line was cut off, it
/// is ended first. On return the line is on the disk. Errors: one line that names the file; a line that was
/// partly written is ignored by readers.
Result<void> append_line(const std::filesystem::path& path, std::string_view line);

/// Returns the lines that still count: for each plan that was not removed its last line with a schedule and
/// its last line with a name, and for each graph the plan that was shown last. Reading them gives the same
/// plans. Damaged lines are left out.
std::string compacted(std::string_view lines);

/// Removes lines that no longer count if they are at least half of the file. Writes a new file and then
/// replaces the old one, so that a crash leaves one of the two. Fails if the file cannot be written; the old
/// one then remains.
Result<void> compact_file(const std::filesystem::path& path);

}  // namespace rematlas::explorer
