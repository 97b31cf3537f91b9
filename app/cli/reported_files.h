// Reads the files of a report: a graph, and the schedules, plans and sweeps of this graph.
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

/// The contents of the files that a command line names, in the order of the command line.
class ReportedFiles {
  public:
    /// `asked_graph` is the graph's file if the user named one with --graph, else empty.
    explicit ReportedFiles(std::string asked_graph) : asked_graph_(std::move(asked_graph)) {}

    /// Reads the files. Fails if a file cannot be read or has another kind, or if the files belong to several
    /// graphs.
    Result<void> read(const std::vector<std::string>& paths);

    /// Returns the contents of the files. The result points into this object.
    ReportOf report() const;

  private:
    Result<void> read_one(const std::string& path);
    Result<void> take_graph(const std::string& path, Result<Graph> graph);
    /// Reads the file that the user named with --graph. Without --graph, and if no file contained the graph,
    /// searches the folder of the first schedule (or of the first sweep if there are no schedules)
    /// for the graph with the digest that the schedule or sweep names.
    Result<void> find_graph(const std::string& first);
    /// Fails if the files belong to different graphs. The error names a file that differs from the others.
    Result<void> check_one_graph() const;

    std::string asked_graph_;
    std::string graph_path_;  ///< the first file that contained the graph
    std::optional<Graph> graph_;
    std::vector<std::pair<std::string, Schedule>> schedules_;
    std::vector<std::pair<std::string, Sweep>> sweeps_;
};

}  // namespace rematlas
