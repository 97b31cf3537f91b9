// A report to send to colleagues: what plans of a step need and cost, as one HTML file that needs no
// network. Its words, figures and pictures can be read without a script; with one, the page shows the
// blocks of the step, its memory at each moment, the trade-off between memory and time, and tables of
// all there is.
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

/// A schedule and what people call it: the name of its file.
struct ReportedSchedule {
    std::string name;
    const Schedule* schedule = nullptr;
};

/// What it tells of: a graph, any number of its schedules and sweeps.
struct ReportOf {
    const Graph* graph = nullptr;  ///< null only without schedules: the graph of a sweep is not known
    std::vector<ReportedSchedule> schedules = {};  ///< the first is told in words
    std::vector<const Sweep*> sweeps = {};
    std::string made_by = {};  ///< program and version
    PageUse use = PageUse::file;
    LayoutLimits layout = {};  ///< where blocks cannot be laid out within them, the page says why
};

/// Each schedule is checked first. Equal files give equal reports. Errors: a schedule that the checker
/// refuses (negative), a schedule or sweep of another graph, nothing to tell of, a build without cairo.
Result<std::string> report_page(const ReportOf& of);

/// Writes the whole file or none.
Result<void> write_report(const ReportOf& of, const std::filesystem::path& path);

}  // namespace rematlas
