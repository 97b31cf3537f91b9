#include "viz/paint/draw.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "core/base/files.h"
#include "core/graph/flat_graph.h"
#include "core/hierarchy/decompose.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "viz/block_view/block_view.h"
#include "viz/layout/cluster_layout.h"
#include "viz/paint/blocks_painter.h"
#include "viz/paint/painters.h"

namespace rematlas {

namespace {

Result<PictureFormat> format_of(const std::filesystem::path& path) {
    std::string extension = path.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (extension == ".svg") return PictureFormat::svg;
    if (extension == ".png") return PictureFormat::png;
    if (extension == ".pdf") return PictureFormat::pdf;
    return Error{path.string() + ": a picture must end in .svg, .png or .pdf"};
}

Result<void> check_belongs(const std::string& sha256, const Graph& graph, const std::filesystem::path& path,
                           const char* what) {
    if (sha256.empty() || graph.sha256.empty() || sha256 == graph.sha256) return {};
    return Error{path.string() + ": the " + what + " belongs to another graph than " + graph.name};
}

Result<void> write(const Result<std::string>& picture, const std::filesystem::path& path) {
    if (!picture) return picture.error();
    return write_file(path, *picture);
}

/// Draws a schedule. Fails if the schedule cannot be simulated.
Result<void> draw_played(const Graph& graph, const Schedule& schedule, const std::filesystem::path& path,
                         decltype(draw_schedule)& draw) {
    auto format = format_of(path);
    if (!format) return format.error();
    if (auto same = check_belongs(schedule.graph_sha256, graph, path, "schedule"); !same) return same;
    auto simulation = simulate(graph, schedule);
    if (!simulation)
        return Error{path.string() + ": the schedule does not run: " + simulation.error().message,
                     ErrorKind::negative};
    return write(draw(graph, schedule, *simulation, *format), path);
}

}  // namespace

Result<void> check_picture_path(const std::filesystem::path& path) {
    const Result<PictureFormat> format = format_of(path);
    return format ? Result<void>() : format.error();
}

bool can_draw_pictures() {
    return true;
}

Result<void> draw_graph_file(const Graph& graph, const Schedule* schedule, const std::filesystem::path& path,
                             std::optional<int> depth) {
    auto format = format_of(path);
    if (!format) return format.error();
    if (depth && *depth < 0) return Error{"--depth " + std::to_string(*depth) + " is negative"};
    Decisions decisions;
    if (schedule) {
        if (auto same = check_belongs(schedule->graph_sha256, graph, path, "schedule"); !same) return same;
        decisions = decisions_of(graph, schedule->steps);
    }
    Blocks blocks = decompose(graph);
    int levels = full_depth(blocks);
    int shown = std::min(depth.value_or(depth_for(blocks)), levels);
    BlockView view =
        make_block_view(graph, blocks, expanded_to_depth(blocks, shown), schedule ? &decisions : nullptr);
    LayoutCache shapes;
    auto layout = layout_by_clusters(
        layout_request(view, item_sizes(view, picture_ruler()), title_sizes(view, picture_ruler())), shapes);
    if (!layout) {
        // A negative error means that the layout ran out of time or memory, because of too many items.
        bool too_much = layout.error().kind == ErrorKind::negative && shown > 1;
        std::string advice =
            too_much ? "; a depth of less than " + std::to_string(shown) + " has fewer items" : "";
        return Error{path.string() + ": " + layout.error().message + advice, layout.error().kind};
    }
    return write(draw_blocks({graph, schedule, view, *layout, shown, levels}, *format), path);
}

Result<void> draw_view_file(const Graph& graph, const Schedule* schedule, const BlockView& view,
                            const Layout& layout, const std::filesystem::path& path) {
    auto format = format_of(path);
    if (!format) return format.error();
    return write(draw_blocks({graph, schedule, view, layout}, *format), path);
}

Result<void> draw_fits_file(const FitsAnswer& fits, const std::filesystem::path& path) {
    auto format = format_of(path);
    if (!format) return format.error();
    return write(draw_fits(fits, *format), path);
}

Result<void> draw_schedule_file(const Graph& graph, const Schedule& schedule,
                                const std::filesystem::path& path) {
    return draw_played(graph, schedule, path, draw_schedule);
}

Result<void> draw_flame_file(const Graph& graph, const Schedule* schedule,
                             const std::filesystem::path& path) {
    if (schedule) return draw_played(graph, *schedule, path, draw_flame);
    const FlatGraph flat = flatten(graph);
    const Schedule plain{.graph = graph.name,
                         .solver = "step without recomputation",
                         .steps = lower(flat, keep_all_sequence(flat))};
    return draw_played(graph, plain, path, draw_flame);
}

Result<void> draw_comparison_file(const Graph& graph, const Schedule& a, const Schedule& b,
                                  const std::filesystem::path& path) {
    const auto format = format_of(path);
    if (!format) return format.error();
    for (const Schedule* schedule : {&a, &b})
        if (auto same = check_belongs(schedule->graph_sha256, graph, path, "schedule"); !same) return same;
    return write(draw_comparison(graph, a, b, *format), path);
}

Result<void> draw_sweep_file(const Sweep& sweep, const std::filesystem::path& path, const Graph* graph) {
    auto format = format_of(path);
    if (!format) return format.error();
    if (graph)
        if (auto same = check_belongs(sweep.graph_sha256, *graph, path, "sweep"); !same) return same;
    return write(draw_sweep(sweep, graph, *format), path);
}

}  // namespace rematlas
