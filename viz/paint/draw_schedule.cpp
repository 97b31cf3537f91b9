
#include "core/base/sizes.h"
#include "core/graph/flat_graph.h"
#include "core/schedule/homes.h"
#include "core/schedule/run_sequence.h"
#include "viz/paint/painters.h"
#include "viz/paint/schedule_painter.h"

namespace rematlas {

namespace {

constexpr double kWidth = 1200;
constexpr double kLeft = 104, kRightRoom = 28;
constexpr double kHeaderHeight = 80;
constexpr double kLaneHeight = 30, kLaneGap = 6;
constexpr double kMemoryHeight = 330;

/// Returns the lanes of the step that runs every op once. They are empty if this step cannot be simulated.
LaneData lanes_without_recomputation(const Graph& graph, LaneAxis axis) {
    FlatGraph flat = flatten(graph);
    std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
    auto simulation = simulate(graph, steps);
    return simulation ? lane_data(graph, steps, *simulation, axis) : LaneData();
}

void schedule_header(Canvas& canvas, const ScheduleScene& scene, const Schedule& schedule,
                     const Simulation& simulation) {
    const Graph& graph = scene.graph;
    double room = kWidth - kLeft - kRightRoom;
    TextStyle title{.size = 16, .bold = true};
    canvas.text({kLeft, 36}, fitted(canvas, schedule_title(graph, schedule), title, room), title);
    std::size_t runs = 0;
    for (const Step& step : schedule.steps) runs += step.runs() ? 1 : 0;
    const int on_host = host_runs(schedule.steps);
    const std::int64_t base = base_time(graph).value;
    std::string about = "peak " + format_bytes(simulation.peak);
    if (scene.plain->peak > simulation.peak.value)
        about += " instead of " + format_bytes(Bytes(scene.plain->peak));
    about += "   ·   time " + format_duration(simulation.time);
    if (base > 0)
        about +=
            ", " + format_overhead(static_cast<double>(simulation.time.value) / static_cast<double>(base));
    about += "   ·   " + std::to_string(runs) + " runs";
    if (on_host > 0) about += " on the device and " + std::to_string(on_host) + " on the host,";
    about += " of " + std::to_string(graph.ops.size()) + " ops";
    if (simulation.host_peak.value > 0)
        about += "   ·   at most " + format_bytes(simulation.host_peak) + " on the host";
    if (!schedule.evicted.empty())
        about += "   ·   " + std::to_string(schedule.evicted.size()) + " evictions";
    canvas.text({kLeft, 58}, fitted(canvas, about, kNote, room), kNote);
}

/// The scene of a whole schedule, and the data to which it refers.
class WholeSchedule {
  public:
    WholeSchedule(const Graph& graph, const Schedule& schedule, const Simulation& simulation, double top,
                  const palette::Paper& paper)
        : data_(lane_data(graph, schedule.steps, simulation, natural_axis(simulation))),
          plain_(lanes_without_recomputation(graph, data_.axis)),
          height_(schedule_height(data_, kLaneHeight, kLaneGap, kMemoryHeight, true)),
          scene_{.graph = graph,
                 .steps = schedule.steps,
                 .data = data_,
                 .plain = &plain_,
                 .evicted = &schedule.evicted,
                 .budget = schedule.budget,
                 .host_budget = schedule.host_budget,
                 .resident = always_on_device(graph, schedule.steps, schedule.homes),
                 .rect = {0, top, kWidth, height_},
                 .names_width = kLeft,
                 .right_room = kRightRoom,
                 .lane_height = kLaneHeight,
                 .lane_gap = kLaneGap,
                 .text_size = 10,
                 .axis_titles = true,
                 .paper = paper} {}
    WholeSchedule(const WholeSchedule&) = delete;
    WholeSchedule& operator=(const WholeSchedule&) = delete;

    const ScheduleScene& scene() const { return scene_; }
    Size size() const { return {kWidth, scene_.rect.y + height_}; }

  private:
    LaneData data_, plain_;
    double height_;
    ScheduleScene scene_;
};

}  // namespace

std::string schedule_title(const Graph& graph, const Schedule& schedule) {
    std::string title = graph.name + ": " + (schedule.solver.empty() ? "schedule" : schedule.solver);
    if (schedule.budget.value > 0) title += " with " + format_bytes(schedule.budget);
    return title;
}

Result<std::string> draw_schedule(const Graph& graph, const Schedule& schedule, const Simulation& simulation,
                                  PictureFormat format) {
    const WholeSchedule whole(graph, schedule, simulation, kHeaderHeight, palette::kLight);
    auto canvas = make_canvas(format, whole.size(), graph.name);
    schedule_header(*canvas, whole.scene(), schedule, simulation);
    paint_schedule(*canvas, whole.scene());
    return canvas->finish();
}

Result<std::string> schedule_in_page(const Graph& graph, const Schedule& schedule,
                                     const Simulation& simulation, const PageStyle& style) {
    const WholeSchedule whole(graph, schedule, simulation, 0, style.paper);
    auto canvas =
        make_svg_canvas(whole.size(), "Memory over time", {.page = style.paper.page, .ids = style.ids});
    paint_schedule(*canvas, whole.scene());
    return canvas->finish();
}

}  // namespace rematlas
