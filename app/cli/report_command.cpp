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

/// What the files of a command line hold, one schedule and one sweep at most.
struct Reported {
    std::optional<Graph> graph;
    std::optional<Schedule> schedule;
    std::optional<Sweep> sweep;
};

Result<void> read_reported_schedule(const std::string& path, const std::string& graph_path, Reported& out) {
    Result<Schedule> schedule = read_schedule(path);
    if (!schedule) return schedule.error();
    Result<Graph> graph = graph_for(*schedule, path, graph_path);
    if (!graph) return graph.error();
    out.schedule = schedule.take();
    out.graph = graph.take();
    return {};
}

Result<void> read_reported_plan(const std::string& path, Reported& out) {
    Result<Plan> plan = read_plan(path);
    if (!plan) return plan.error();
    out.schedule = std::move(plan->schedule);
    out.graph = std::move(plan->graph);
    return {};
}

Result<void> read_reported_sweep(const std::string& path, Reported& out) {
    Result<Sweep> sweep = read_sweep(path);
    if (!sweep) return sweep.error();
    out.sweep = sweep.take();
    return {};
}

Result<Reported> read_reported(const std::vector<std::string>& paths, const std::string& graph_path) {
    Reported out;
    std::string sweep_path;
    for (const std::string& path : paths) {
        const Result<FileKind> kind = our_file(path);
        if (!kind) return kind.error();
        if (*kind == FileKind::graph)
            return Error{
                path + ": is a graph; a report is on a schedule or a sweep of it (rematlas solve makes one)"};
        if (*kind == FileKind::fits)
            return Error{path +
                         ": is an answer of fits; a report is on a schedule or a sweep (draw takes it)"};
        const bool sweep = *kind == FileKind::sweep;
        if (sweep ? out.sweep.has_value() : out.schedule.has_value())
            return Error{path + ": a report is on one schedule and one sweep at most"};
        if (sweep) sweep_path = path;
        const Result<void> read = sweep                     ? read_reported_sweep(path, out)
                                  : *kind == FileKind::plan ? read_reported_plan(path, out)
                                                            : read_reported_schedule(path, graph_path, out);
        if (!read) return read.error();
    }
    if (out.sweep && !out.graph) {
        Result<std::optional<Graph>> graph = graph_if_known(*out.sweep, sweep_path, graph_path);
        if (!graph) return graph.error();
        out.graph = graph.take();
    }
    return out;
}

Result<Exit> report_command(const std::vector<std::string>& paths, const std::string& graph_path,
                            const std::string& out, const OutputFlags& output) {
    for (const std::string& path : paths)
        if (const Result<void> other = check_is_no_input(out, {path, graph_path}); !other)
            return other.error();
    const Result<Reported> read = read_reported(paths, graph_path);
    if (!read) return read.error();
    const Result<void> written = write_report({.graph = read->graph ? &*read->graph : nullptr,
                                               .schedule = read->schedule ? &*read->schedule : nullptr,
                                               .sweep = read->sweep ? &*read->sweep : nullptr,
                                               .made_by = std::string("rematlas ") + REMATLAS_VERSION},
                                              out);
    if (!written) return written.error();
    if (output.json) print_json({{"file", out}});
    return Exit::success;
}

}  // namespace

void add_report_command(const Commands& commands) {
    static OutputFlags output;
    static std::vector<std::string> paths;
    static std::string graph, out;
    CLI::App* app = commands.add("report", "what a schedule or a sweep needs and costs, as one HTML file",
                                 "rematlas report gpt12.schedule.json gpt12.sweep.json -o gpt12.html", output,
                                 [] { return report_command(paths, graph, out, output); });
    app->add_option("files", paths, "a schedule or plan, a sweep, or one of each")
        ->required()
        ->expected(1, 2);
    app->add_option("--graph", graph,
                    "their graph (default: the file beside them with the digest they name)");
    app->add_option("-o,--output", out, "the .html file to write")->required();
}

}  // namespace rematlas
