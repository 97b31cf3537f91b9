// rematlas draw
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/reading.h"
#include "core/graph/graph_file.h"
#include "core/planning/fits_file.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule_file.h"
#include "viz/paint/draw.h"

namespace rematlas {
namespace {

Result<void> draw_any(const std::string& path, const std::string& out, const std::string& graph_path,
                      const std::string& schedule_path, std::optional<int> depth) {
    const Result<FileKind> kind = our_file(path);
    if (!kind) return kind.error();
    if (*kind == FileKind::sweep) {
        const Result<Sweep> sweep = read_sweep(path);
        if (!sweep) return sweep.error();
        const Result<std::optional<Graph>> graph = graph_if_known(*sweep, path, graph_path);
        if (!graph) return graph.error();
        return draw_sweep_file(*sweep, out, *graph ? &**graph : nullptr);
    }
    if (*kind == FileKind::fits) {
        const Result<FitsAnswer> fits = read_fits(path);
        if (!fits) return fits.error();
        return draw_fits_file(*fits, out);
    }
    if (*kind == FileKind::graph) {
        const Result<Graph> graph = read_graph(path);
        if (!graph) return graph.error();
        if (schedule_path.empty()) return draw_graph_file(*graph, nullptr, out, depth);
        const Result<Schedule> schedule = schedule_in(schedule_path);
        if (!schedule) return schedule.error();
        return draw_graph_file(*graph, &*schedule, out, depth);
    }
    if (*kind == FileKind::plan) {
        const Result<Plan> plan = read_plan(path);
        if (!plan) return plan.error();
        return draw_schedule_file(plan->graph, plan->schedule, out);
    }
    const Result<Schedule> schedule = read_schedule(path);
    if (!schedule) return schedule.error();
    const Result<Graph> graph = graph_for(*schedule, path, graph_path);
    if (!graph) return graph.error();
    return draw_schedule_file(*graph, *schedule, out);
}

}  // namespace

void add_draw_command(const Commands& commands) {
    static OutputFlags output;
    static std::string path, out, graph, schedule;
    static std::optional<int> depth;
    CLI::App* app = commands.add(
        "draw", "a picture of a graph, a schedule, a sweep or an answer of fits, without a display",
        "rematlas draw gpt12.schedule.json -o memory.svg", output, []() -> Result<Exit> {
            if (const Result<void> drawn = draw_any(path, out, graph, schedule, depth); !drawn)
                return drawn.error();
            if (output.json) print_json({{"file", out}});
            return Exit::success;
        });
    app->add_option("file", path, "a graph, schedule, plan, sweep, or what fits --json wrote")->required();
    app->add_option("-o,--output", out, "a .svg, .png or .pdf file")->required();
    app->add_option("--depth", depth,
                    "levels of blocks that are expanded (graphs; default: as many as stay readable)")
        ->check(CLI::Range(0, 1000));
    app->add_option(
        "--graph", graph,
        "the graph of a schedule or sweep (default: the file beside it with the digest it names)");
    app->add_option("--schedule", schedule, "colour a graph by what this schedule keeps and recomputes");
}

}  // namespace rematlas
