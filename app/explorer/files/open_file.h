// Opens files of every kind that the explorer knows.
#pragma once

#include <filesystem>
#include <optional>

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
    std::optional<RemoteHost> host = {};  ///< the machine of the file; nullopt if it is this machine
    // The next two members are set only if `graph` is not the graph `current` that was passed:
    SchedulePtr all_kept = nullptr;  ///< the step without recomputation
    KeptPlans kept = {};             ///< plans in the graph's session file, from earlier work
};

/// Opens a file. A schedule or a sweep needs its graph, which is found by its digest: `current`, or a
/// `*.graph.json` file in the same folder. Fails if the file cannot be read, if no such graph is found, or if
/// the file is of another kind. For example, a model must be captured first. Any thread may call this
/// function. Cost: reading the file and preparing its content.
Result<Opened> open_file(const std::filesystem::path& path, const GraphPtr& current);

/// Opens a file of this or of another machine (ssh://host/path). A file of another machine is copied to this
/// machine first. If that file is a schedule or a sweep, its graph must be `current`, or must have been
/// opened before from the same folder of the other machine. Fails as `open_file` and `fetch` do.
Result<Opened> open_anywhere(const QString& path, const GraphPtr& current, const std::stop_token& stop);

/// Opens the local copy (`copy_of`) of a file of another machine. The copy must exist.
Result<Opened> open_copy(const QString& url, const GraphPtr& current);

}  // namespace rematlas::explorer
