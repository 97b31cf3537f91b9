// The file of a PlanJournal (plan_journal.h says what its lines are): lines are added at its end, and what no
// longer counts is thrown out now and then. Several programs may have it open: a lock keeps them from
// crossing each other.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace rematlas::explorer {

/// At the end of the file, which is made where there is none; a line that was cut off is ended first. On
/// return it is on the disk. Errors: one line that names the file; what was written of the line counts as not
/// there.
Result<void> append_line(const std::filesystem::path& path, std::string_view line);

/// The lines that still count, in an order that reads the same: of each plan that was not removed the last
/// line with its schedule and the last with its name, and the plan shown last of each graph. Damaged lines
/// are left out.
std::string compacted(std::string_view lines);

/// Writes the file anew where less than half of it counts: beside it, then in its place, so that a crash
/// leaves the old one or the new one. Errors: it cannot be written; the old one is there then.
Result<void> compact_file(const std::filesystem::path& path);

}  // namespace rematlas::explorer
