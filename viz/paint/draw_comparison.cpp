#include "core/base/sizes.h"
#include "core/schedule/schedule_diff.h"
#include "viz/paint/compare_painter.h"
#include "viz/paint/painters.h"

namespace rematlas {

namespace {

constexpr double kPictureWidth = 1200, kTitleHeight = 52, kBothMemory = 300;

std::string title_of(const std::string& name, const Schedule& schedule, const Simulation& played) {
    return name + ": " + (schedule.solver.empty() ? "schedule" : schedule.solver) + ", step " +
           format_duration(played.time) + ", peak " + format_bytes(played.peak);
}

}  // namespace

Result<std::string> draw_comparison(const Graph& graph, const Schedule& a, const Schedule& b,
                                    PictureFormat format) {
    const Result<Simulation> played_a = simulate(graph, a), played_b = simulate(graph, b);
    if (!played_a) return played_a.error();
    if (!played_b) return played_b.error();
    const ScheduleDiff found = compare(graph, {a.steps, *played_a, a.homes}, {b.steps, *played_b, b.homes});
    const LaneAxis axis = natural_axis(*played_a);
    const LaneData lanes_a = lane_data(graph, a.steps, *played_a, axis),
                   lanes_b = lane_data(graph, b.steps, *played_b, axis);
    const LaneData alone_a = bars_alone(lanes_a, found.in_b), alone_b = bars_alone(lanes_b, found.in_a);
    CompareScene scene{.graph = graph,
                       .a = {"a", title_of("a", a, *played_a), a.steps, lanes_a, alone_a},
                       .b = {"b", title_of("b", b, *played_b), b.steps, lanes_b, alone_b},
                       .rect = {},
                       .lane_height = 24,
                       .lane_gap = 5};
    const double height = compare_height(lanes_a, lanes_b, scene) + kBothMemory;
    scene.rect = {0, kTitleHeight, kPictureWidth, height};
    const auto canvas = make_canvas(format, {kPictureWidth, kTitleHeight + height + 8}, graph.name);
    const TextStyle title{.size = 16, .bold = true};
    canvas->text({scene.names_width, 34}, graph.name, title);
    paint_comparison(*canvas, scene);
    return canvas->finish();
}

}  // namespace rematlas
