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

/// The arguments of the command.
struct DrawRequest {
    std::string path, out, graph_path, schedule_path;
    std::optional<int> depth;
    bool as_flame = false;
};

Result<void> draw_steps(const Graph& graph, const Schedule& schedule, const DrawRequest& asked) {
    return asked.as_flame ? draw_flame_file(graph, &schedule, asked.out)
                          : draw_schedule_file(graph, schedule, asked.out);
}

Result<void> draw_graph(const DrawRequest& asked) {
    const Result<Graph> graph = read_graph(asked.path);
    if (!graph) return graph.error();
    std::optional<Schedule> schedule;
    if (!asked.schedule_path.empty()) {
        Result<Schedule> read = schedule_in(asked.schedule_path);
        if (!read) return read.error();
        schedule = read.take();
    }
    const Schedule* shown = schedule ? &*schedule : nullptr;
    return asked.as_flame ? draw_flame_file(*graph, shown, asked.out)
                          : draw_graph_file(*graph, shown, asked.out, asked.depth);
}

Result<void> draw_any(const DrawRequest& asked) {
    const auto& [path, out, graph_path, schedule_path, depth, as_flame] = asked;
    const Result<FileKind> kind = our_file(path);
    if (!kind) return kind.error();
    if (as_flame && (*kind == FileKind::sweep || *kind == FileKind::fits))
        return Error{path +
                     ": --as flame draws the runs of a graph, a schedule or a plan; leave it out here"};
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
    if (*kind == FileKind::graph) return draw_graph(asked);
    if (*kind == FileKind::plan) {
        const Result<Plan> plan = read_plan(path);
        if (!plan) return plan.error();
        return draw_steps(plan->graph, plan->schedule, asked);
    }
    const Result<Schedule> schedule = read_schedule(path);
    if (!schedule) return schedule.error();
    const Result<Graph> graph = graph_for(*schedule, path, graph_path);
    if (!graph) return graph.error();
    return draw_steps(*graph, *schedule, asked);
}

}  // namespace

void add_draw_command(const Commands& commands) {
    static OutputFlags output;
    static DrawRequest asked;
    static std::string as;
    CLI::App* app =
        commands.add("draw", "draw a graph, a schedule, a sweep or an answer of fits; no display is needed",
                     "rematlas draw gpt12.schedule.json -o memory.svg", output, []() -> Result<Exit> {
                         asked.as_flame = as == "flame";
                         if (const Result<void> drawn = draw_any(asked); !drawn) return drawn.error();
                         if (output.json) print_json({{"file", asked.out}});
                         return Exit::success;
                     });
    app->add_option("file", asked.path, "a graph, schedule, plan, sweep, or what fits --json wrote")
        ->required();
    app->add_option("-o,--output", asked.out, "a .svg, .png or .pdf file")->required();
    app->add_option("--as", as, "flame: the runs over time in boxes by module, instead of the usual picture")
        ->check(CLI::IsMember({"flame"}));
    app->add_option("--depth", asked.depth,
                    "levels of blocks that are expanded (graphs; default: as many as stay readable)")
        ->check(CLI::Range(0, 1000));
    app->add_option(
        "--graph", asked.graph_path,
        "the graph of a schedule or sweep (default: the file beside it with the digest it names)");
    app->add_option("--schedule", asked.schedule_path,
                    "colour a graph by what this schedule keeps and recomputes; with --as flame, the runs");
}

}  // namespace rematlas
