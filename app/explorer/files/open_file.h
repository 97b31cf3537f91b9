// Opens any file the explorer knows.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/explorer/files/plan_journal.h"
#include "app/explorer/jobs/remote_host.h"
#include "app/explorer/loaded/loaded_schedule.h"
#include "core/base/result.h"
#include "core/planning/file_kind.h"
#include "core/planning/sweep.h"

namespace rematlas::explorer {

/// What one file brings. A schedule or a sweep brings its graph along.
struct Opened {
    GraphPtr graph;
    SchedulePtr schedule;
    std::optional<Sweep> sweep;
    std::filesystem::path path;
    std::optional<RemoteHost> host = {};  ///< where the file is, if not here
    // Where the graph is not `current`:
    SchedulePtr all_kept = nullptr;  ///< the step without recomputation
    KeptPlans kept = {};             ///< of earlier work on it
};

/// Schedules and sweeps find their graph by digest: first `current`, then the `*.graph.json` files in the
/// same folder. Errors: what reading says; a digest for which there is no graph; a model (that needs a
/// capture first). Any thread may call it. Cost: reading and preparing.
Result<Opened> open_file(const std::filesystem::path& path, const GraphPtr& current);

/// Opens a file here, or on another machine (ssh://host/path). A file of another machine is copied first, and
/// schedules and sweeps find their graph if it was opened from there before. Errors: those of `fetch`, too.
Result<Opened> open_anywhere(const QString& path, const GraphPtr& current, const std::stop_token& stop);

/// Opens a file of another machine whose copy (`copy_of`) has just been written.
Result<Opened> open_copy(const QString& url, const GraphPtr& current);

}  // namespace rematlas::explorer
