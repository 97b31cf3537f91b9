// Opens files of every kind that the explorer knows.
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

/// The content of one file. A schedule or a sweep comes with its graph.
struct Opened {
    GraphPtr graph;
    SchedulePtr schedule;
    std::optional<Sweep> sweep;
    std::filesystem::path path;
    std::optional<RemoteHost> host = {};  ///< the machine of the file; none: this one
    // Only filled if the graph is not `current`:
    SchedulePtr all_kept = nullptr;  ///< the step without recomputation
    KeptPlans kept = {};             ///< plans of earlier work on the graph
};

/// Opens a file. The graph of a schedule or a sweep is found by its digest: `current`, or a `*.graph.json`
/// file in the same folder. Fails if the file cannot be read, if no such graph has the digest, or if the file
/// is a model (which must be captured first). Any thread may call it. Cost: reading and preparing.
Result<Opened> open_file(const std::filesystem::path& path, const GraphPtr& current);

/// Opens a file on this or another machine (ssh://host/path). A file of another machine is copied first; the
/// graph of its schedules and sweeps is found if it was opened from there before. Errors: also those of
/// `fetch`.
Result<Opened> open_anywhere(const QString& path, const GraphPtr& current, const std::stop_token& stop);

/// Opens a file of another machine. Its local copy (`copy_of`) must exist.
Result<Opened> open_copy(const QString& url, const GraphPtr& current);

}  // namespace rematlas::explorer
