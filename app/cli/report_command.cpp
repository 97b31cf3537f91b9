// rematlas report
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/command.h"
#include "app/cli/reading.h"
#include "core/graph/graph_file.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule_file.h"
#include "viz/report/report.h"

namespace rematlas {
namespace {

/// What the files of a command line hold, in their order.
class ReportedFiles {
  public:
    explicit ReportedFiles(std::string graph_path) : graph_path_(std::move(graph_path)) {}

    Result<void> read(const std::vector<std::string>& paths) {
        for (const std::string& path : paths)
            if (const Result<void> done = read_one(path); !done) return done;
        return find_graph(paths.front());
    }

    ReportOf report() const {
        ReportOf of{.graph = graph_ ? &*graph_ : nullptr,
                    .made_by = std::string("rematlas ") + REMATLAS_VERSION};
        for (const auto& [path, schedule] : schedules_)
            of.schedules.push_back({std::filesystem::path(path).filename().string(), &schedule});
        for (const auto& [path, sweep] : sweeps_) of.sweeps.push_back(&sweep);
        return of;
    }

  private:
    Result<void> read_one(const std::string& path) {
        const Result<FileKind> kind = our_file(path);
        if (!kind) return kind.error();
        switch (*kind) {
            case FileKind::graph:
                return take_graph(path, read_graph(path));
            case FileKind::plan: {
                Result<Plan> plan = read_plan(path);
                if (!plan) return plan.error();
                schedules_.emplace_back(path, std::move(plan->schedule));
                return take_graph(path, std::move(plan->graph));
            }
            case FileKind::sweep: {
                Result<Sweep> sweep = read_sweep(path);
                if (!sweep) return sweep.error();
                sweeps_.emplace_back(path, sweep.take());
                return {};
            }
            case FileKind::schedule: {
                Result<Schedule> schedule = read_schedule(path);
                if (!schedule) return schedule.error();
                schedules_.emplace_back(path, schedule.take());
                return {};
            }
            case FileKind::fits:
            case FileKind::run:
            case FileKind::model:
            case FileKind::unknown:
                break;
        }
        return Error{path +
                     ": is an answer of fits; a report is on graphs, schedules and sweeps (draw takes it)"};
    }

    Result<void> take_graph(const std::string& path, Result<Graph> graph) {
        if (!graph) return graph.error();
        if (graph_ && graph_->sha256 != graph->sha256)
            return Error{path + ": is of another graph than " + graph_path_ + "; a report is on one graph"};
        if (graph_path_.empty()) graph_path_ = path;
        graph_ = graph.take();
        return {};
    }

    /// The graph that was named, else the one beside the first schedule or sweep that has the digest it
    /// names.
    Result<void> find_graph(const std::string& first) {
        if (graph_) return check_one_graph();
        if (!schedules_.empty()) {
            const auto& [path, schedule] = schedules_.front();
            Result<Graph> graph = graph_for(schedule, path, graph_path_);
            if (!graph) return graph.error();
            graph_ = graph.take();
            return check_one_graph();
        }
        Result<std::optional<Graph>> graph = graph_if_known(sweeps_.front().second, first, graph_path_);
        if (!graph) return graph.error();
        graph_ = graph.take();
        return check_one_graph();
    }

    /// Errors name the file, which the report itself does not know.
    Result<void> check_one_graph() const {
        const auto other = [&](const std::string& path, const std::string& digest) {
            return graph_ && !digest.empty() && !graph_->sha256.empty() && digest != graph_->sha256
                       ? Result<void>(Error{path + ": is of another graph than " + graph_->name +
                                            "; a report is on one graph"})
                       : Result<void>();
        };
        for (const auto& [path, schedule] : schedules_)
            if (const Result<void> same = other(path, schedule.graph_sha256); !same) return same;
        for (const auto& [path, sweep] : sweeps_)
            if (const Result<void> same = other(path, sweep.graph_sha256); !same) return same;
        return {};
    }

    std::string graph_path_;  ///< named with --graph, or of the graph that was read
    std::optional<Graph> graph_;
    std::vector<std::pair<std::string, Schedule>> schedules_;
    std::vector<std::pair<std::string, Sweep>> sweeps_;
};

Result<Exit> report_command(const std::vector<std::string>& paths, const std::string& graph_path,
                            const std::string& out, const OutputFlags& output) {
    for (const std::string& path : paths)
        if (const Result<void> other = check_is_no_input(out, {path, graph_path}); !other)
            return other.error();
    ReportedFiles files(graph_path);
    if (const Result<void> read = files.read(paths); !read) return read.error();
    if (const Result<void> written = write_report(files.report(), out); !written) return written.error();
    if (output.json) print_json({{"file", out}});
    return Exit::success;
}

}  // namespace

void add_report_command(const Commands& commands) {
    static OutputFlags output;
    static std::vector<std::string> paths;
    static std::string graph, out;
    CLI::App* app =
        commands.add("report", "what plans of a step need and cost, as one HTML page to look around in",
                     "rematlas report gpt12.graph.json gpt12.schedule.json gpt12.sweep.json -o gpt12.html",
                     output, [] { return report_command(paths, graph, out, output); });
    app->add_option("files", paths,
                    "a graph, and schedules, plans and sweeps of it; the first plan is told in words")
        ->required()
        ->expected(1, 64);
    app->add_option(
        "--graph", graph,
        "their graph (default: the one among the files, else the file beside them with the digest "
        "they name)");
    app->add_option("-o,--output", out, "the .html file to write")->required();
}

}  // namespace rematlas
