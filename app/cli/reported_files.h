// The files of a report: a graph with schedules, plans and sweeps of it.
//
//     ReportedFiles files(graph_path);
//     if (const Result<void> read = files.read(paths); !read) return read.error();
//     report_page(files.report());
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule.h"
#include "viz/report/report.h"

namespace rematlas {

/// What the files of a command line hold, in their order.
class ReportedFiles {
  public:
    /// `graph_path`: of their graph, where it is named; else empty.
    explicit ReportedFiles(std::string graph_path) : graph_path_(std::move(graph_path)) {}

    /// Errors: a file that cannot be read or is none of these, and files of several graphs.
    Result<void> read(const std::vector<std::string>& paths);

    /// Points into this object.
    ReportOf report() const;

  private:
    Result<void> read_one(const std::string& path);
    Result<void> take_graph(const std::string& path, Result<Graph> graph);
    /// The graph that was named, else the one beside the first schedule or sweep that has the digest it
    /// names.
    Result<void> find_graph(const std::string& first);
    /// Errors name the file, which the report itself does not know.
    Result<void> check_one_graph() const;

    std::string graph_path_;  ///< named with --graph, or of the graph that was read
    std::optional<Graph> graph_;
    std::vector<std::pair<std::string, Schedule>> schedules_;
    std::vector<std::pair<std::string, Sweep>> sweeps_;
};

}  // namespace rematlas
