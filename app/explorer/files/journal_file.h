// The file of a PlanJournal (plan_journal.h describes its lines). Lines are added at the end, and lines that
// no longer count are removed from time to time. Several programs may have the file open: a lock keeps them
// from writing at the same time.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace rematlas::explorer {

/// Adds a line at the end of the file, and makes the file if it does not exist. If the file ends within a
/// line, ends that line first. On return the line is on the disk. The error message is one line that names
/// the file. After an error a part of the line may be in the file; readers ignore it.
Result<void> append_line(const std::filesystem::path& path, std::string_view line);

/// Returns the lines that still count. These are: for each plan that was not removed, its last line `added`
/// and the last line `named` after that; for each graph, its last line `shown`. Reading the result gives the
/// same plans as reading `lines`. Damaged lines are left out.
std::string compacted(std::string_view lines);

/// Removes lines that no longer count if they are at least half of the file. Writes a new file and then
/// replaces the old file with the new one, so that a crash leaves one of the two. Does nothing if the file
/// cannot be opened. Fails if the file cannot be read or written; the old file then remains.
Result<void> compact_file(const std::filesystem::path& path);

}  // namespace rematlas::explorer
