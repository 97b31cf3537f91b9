#include "core/base/sizes.h"
#include "viz/paint/flame_painter.h"
#include "viz/paint/painters.h"

namespace rematlas {

namespace {

constexpr double kFlameWidth = 1200, kFlameTop = 76, kFlameRow = 24, kFlameSide = 20;

/// Returns, for example, "step 12.3 ms   ·   735 runs, 12 of them again (1 ms)   ·   peak 405 MiB".
std::string about_runs(const FlameData& data, const Simulation& simulation) {
    const FlameSums sums = data.device_sums(), host = data.host_sums();
    std::string about =
        "step " + format_duration(simulation.time) + "   ·   " + std::to_string(sums.runs) + " runs";
    if (sums.again > 0)
        about +=
            ", " + std::to_string(sums.again) + " of them again (" + format_duration(sums.again_time) + ")";
    if (host.runs > 0)
        about +=
            "   ·   on the host " + std::to_string(host.runs) + " runs (" + format_duration(host.time) + ")";
    return about + "   ·   peak " + format_bytes(simulation.peak);
}

}  // namespace

Result<std::string> draw_flame(const Graph& graph, const Schedule& schedule, const Simulation& simulation,
                               PictureFormat format) {
    const FlameData data = flame_data(graph, schedule.steps, simulation, natural_axis(simulation));
    const double height = flame_height(data.levels.size(), kFlameRow), room = kFlameWidth - 2 * kFlameSide;
    const auto canvas = make_canvas(format, {kFlameWidth, kFlameTop + height + kFlameSide}, graph.name);
    const TextStyle title{.size = 16, .bold = true};
    canvas->text({kFlameSide, 36}, fitted(*canvas, schedule_title(graph, schedule), title, room), title);
    canvas->text({kFlameSide, 58}, fitted(*canvas, about_runs(data, simulation), kNote, room), kNote);
    paint_flame(*canvas, {.graph = graph,
                          .data = data,
                          .rect = {kFlameSide - 4, kFlameTop, room + 8, height},
                          .row_height = kFlameRow,
                          .text_size = 10});
    return canvas->finish();
}

}  // namespace rematlas
