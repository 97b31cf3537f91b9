// A report that can be sent to colleagues: what the plans of a step need and cost, as one HTML file that
// needs no network. Its words, figures and pictures can be read without a script. With the script, the page
// also shows the blocks of the step, its memory at each moment, the trade-off between memory and time, and
// tables of all data.
//
//     write_report({.graph = &graph, .schedules = {{"gpt12", &schedule}}, .made_by = "rematlas"}, path);
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule.h"
#include "viz/layout/layout_worker.h"
#include "viz/report/page_use.h"

namespace rematlas {

/// A schedule and its display name, which is the name of its file.
struct ReportedSchedule {
    std::string name;
    const Schedule* schedule = nullptr;
};

/// The contents of a report: a graph, any number of its schedules, and sweeps.
struct ReportOf {
    const Graph* graph = nullptr;                  ///< may be null if there are only sweeps
    std::vector<ReportedSchedule> schedules = {};  ///< the first one is described in words
    std::vector<const Sweep*> sweeps = {};
    std::string made_by = {};  ///< program and version
    PageUse use = PageUse::file;
    LayoutLimits layout = {};  ///< if the blocks cannot be laid out within these limits, the page says why
};

/// Returns the page. Each schedule is checked first. Equal inputs give equal pages. Fails with
/// ErrorKind::negative if the checker refuses a schedule. Also fails if a schedule or sweep is of another
/// graph, if there is nothing to report, or in a build without cairo.
Result<std::string> report_page(const ReportOf& of);

/// Writes the whole file or nothing.
Result<void> write_report(const ReportOf& of, const std::filesystem::path& path);

}  // namespace rematlas
