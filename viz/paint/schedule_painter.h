// The lanes of a schedule above its memory over time, on the device and on the host, for a window and for a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "viz/paint/axis.h"
#include "viz/paint/canvas.h"
#include "viz/paint/lane_data.h"
#include "viz/paint/memory_stack.h"
#include "viz/paint/palette.h"

namespace rematlas {

/// What is shown, and where. References must stay valid while it is painted.
struct ScheduleScene {
    const Graph& graph;
    const std::vector<Step>& steps;
    const LaneData& data;
    /// The step without recomputation, as a grey curve behind; shown where it needs more memory.
    const LaneData* plain = nullptr;
    /// The memory by part of the model, instead of as one curve.
    const MemoryStack* stack = nullptr;
    /// Steps by which online eviction made room: marks above the memory.
    const std::vector<std::int32_t>* evicted = nullptr;
    Bytes budget = {};  ///< 0: none
    std::optional<Bytes> host_budget = {};
    Bytes resident = {};  ///< there for the whole step

    double from = 0, to = 0;  ///< shown part of the axis; empty: all of it

    Rect rect;                 ///< of everything, names and axis included
    double names_width = 96;   ///< left of the lanes
    double corner_height = 0;  ///< at the lower left, that something else covers: no numbers stand there
    double right_room = 14;
    double lane_height = 20, lane_gap = 4;
    double text_size = 11;
    bool axis_titles = false;  ///< names and units of the axes beside them, not at each number

    const IdVector<OpId, char>* marked = nullptr;  ///< ops that are selected
    int cursor = -1;                               ///< step with a line through it; -1: none
    int hovered = -1;                              ///< step with a frame around it; -1: none
    const palette::Paper& paper = palette::kLight;
};

/// Where the parts of a scene lie.
struct SchedulePlaces {
    Rect plot;                ///< lanes and memory
    std::vector<Rect> lanes;  ///< as `LaneData::lanes`
    Rect memory;
    Rect host;  ///< below it, of what the host holds; without height where it never holds anything
    Axis x, y;  ///< in the axis of the data, and in bytes
    Axis host_y;
};

SchedulePlaces places_of(const ScheduleScene& scene);

/// Runs that are narrower than a point are joined: neighbours without a pause become one bar, and where many
/// share a column of the picture, its shade tells how much of it they take. So the cost is that of the shown
/// points, and one look at each bar.
void paint_schedule(Canvas& canvas, const ScheduleScene& scene);

/// Room that the lanes and the memory need for a plot of the device's memory of a height.
double schedule_height(const LaneData& data, double lane_height, double lane_gap, double memory_height,
                       bool axis_titles);

/// "forward", "copy to host".
std::string lane_name(DrawnLane lane);

}  // namespace rematlas
