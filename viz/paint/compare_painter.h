// Paints two schedules of one graph above each other on one axis, with the runs that only one schedule has
// and the memory of both schedules.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule_diff.h"
#include "viz/paint/axis.h"
#include "viz/paint/canvas.h"
#include "viz/paint/lane_data.h"
#include "viz/paint/palette.h"

namespace rematlas {

/// One of the two schedules. References must stay valid while the picture is painted.
struct ComparedSchedule {
    std::string name;   ///< for example "B"
    std::string title;  ///< for example "B: +33 % time, peak 1.02 GiB"
    const std::vector<Step>& steps;
    const LaneData& data;
    const LaneData& alone;  ///< result of `bars_alone`
    int cursor = -1;        ///< step at which a vertical line is drawn; -1: none
};

struct CompareScene {
    const Graph& graph;
    ComparedSchedule a, b;
    double from = 0, to = 0;  ///< shown part of the axis; if empty, the whole axis is shown
    Rect rect;
    double names_width = 96, right_room = 14;
    double lane_height = 16, lane_gap = 3;
    double text_size = 11;
    const IdVector<OpId, char>* marked = nullptr;  ///< selected ops
    const palette::Paper& paper = palette::kLight;
};

struct ComparePlaces {
    struct Side {
        Rect all;                 ///< place of the name and the lanes
        std::vector<Rect> lanes;  ///< in the order of `LaneData::lanes`
        Rect alone;
    };
    Side a, b;
    Rect memory;
    Axis x, y;
};

ComparePlaces places_of(const CompareScene& scene);

/// Returns the bars of the runs that have no match in the other schedule, all in the lane of recomputation.
/// `match` must be `in_b` or `in_a` of `ScheduleDiff`.
LaneData bars_alone(const LaneData& data, const std::vector<int>& match);

void paint_comparison(Canvas& canvas, const CompareScene& scene);

/// Returns the height that everything except the memory needs.
double compare_height(const LaneData& a, const LaneData& b, const CompareScene& scene);

}  // namespace rematlas
