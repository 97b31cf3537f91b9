// A report to send to colleagues: what a schedule needs and costs, in words, figures and pictures, as one HTML file that
// needs no script and no network.
//
//     write_report({.graph = &graph, .schedule = &schedule, .made_by = "rematlas 0.1.0"}, "gpt12.html");
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// What it tells of: a schedule with its graph, a sweep, or both.
struct ReportOf {
    const Graph* graph = nullptr;  ///< null only without a schedule: the graph of the sweep is not known
    const Schedule* schedule = nullptr;
    const Sweep* sweep = nullptr;
    std::string made_by = {};  ///< program and version
};

/// The schedule is checked first. Equal files give equal reports. Errors: a schedule that the checker refuses
/// (negative), a schedule or sweep of another graph, neither of them, a build without cairo.
Result<std::string> report_page(const ReportOf& of);

/// Writes the whole file or none.
Result<void> write_report(const ReportOf& of, const std::filesystem::path& path);

}  // namespace rematlas
