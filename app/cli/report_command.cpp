// rematlas report
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/reading.h"
#include "app/cli/reported_files.h"
#include "viz/report/report.h"

namespace rematlas {
namespace {

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
        commands.add("report", "write one HTML page that shows what plans of a step need and cost",
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
