// Paints the lanes of a schedule above its memory over time, on the device and on the host, for a window and
// for a file.
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

/// The content of a picture and its place. References must stay valid while the picture is painted.
struct ScheduleScene {
    const Graph& graph;
    const std::vector<Step>& steps;
    const LaneData& data;
    /// The step without recomputation, painted as a grey curve in the background; null: no curve. It is
    /// visible where its memory is above the schedule's memory.
    const LaneData* plain = nullptr;
    /// With a stack, the memory is shown as a layer for each part of the model instead of as one curve.
    const MemoryStack* stack = nullptr;
    /// Indices of the `free` steps that online eviction made; marked at the top of the memory; null: no
    /// marks.
    const std::vector<std::int32_t>* evicted = nullptr;
    Bytes budget = {};  ///< 0: no budget
    std::optional<Bytes> host_budget = {};
    Bytes resident = {};  ///< bytes of the residents, which are held during the whole step

    double from = 0, to = 0;  ///< shown part of the axis; if empty, the whole axis is shown

    Rect rect;                 ///< place of everything, including names and axis
    double names_width = 96;   ///< width left of the lanes
    double corner_height = 0;  ///< height at the lower left that something else covers, so that no numbers
                               ///< are painted there
    double right_room = 14;
    double lane_height = 20, lane_gap = 4;
    double text_size = 11;
    bool axis_titles = false;  ///< whether names and units are beside the axes, instead of at each number

    const IdVector<OpId, char>* marked = nullptr;  ///< selected ops
    int cursor = -1;                               ///< step at which a vertical line is drawn; -1: none
    int hovered = -1;                              ///< step with a frame around it; -1: none
    const palette::Paper& paper = palette::kLight;
};

/// The places of the parts of a scene.
struct SchedulePlaces {
    Rect plot;                ///< place of the lanes and the memory
    std::vector<Rect> lanes;  ///< in the order of `LaneData::lanes`
    Rect memory;
    Rect host;  ///< memory of the host, below `memory`; has height 0 if the host never holds anything
    Axis x, y;  ///< `x` in the axis of the data, `y` in bytes
    Axis host_y;
};

SchedulePlaces places_of(const ScheduleScene& scene);

/// Paints a schedule. Neighbouring runs of one module become one bar if there is no pause between them. Bars
/// narrower than two points are not drawn: the shade of a column of the picture shows how much of the column
/// they take. So the number of shapes depends on the width of the picture. Cost: linear in the number of
/// bars.
void paint_schedule(Canvas& canvas, const ScheduleScene& scene);

/// Returns the height of the lanes and the memory if the device's memory has the height `memory_height`.
double schedule_height(const LaneData& data, double lane_height, double lane_gap, double memory_height,
                       bool axis_titles);

/// Returns the name of a lane, such as "forward" or "copy to host".
std::string lane_name(DrawnLane lane, const std::vector<std::string>& queues = {});

}  // namespace rematlas
