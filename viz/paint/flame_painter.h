// A flame chart of the step's runs, the uppermost level above, for a window and for a file.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/graph/graph.h"
#include "viz/paint/axis.h"
#include "viz/paint/canvas.h"
#include "viz/paint/flame_data.h"
#include "viz/paint/palette.h"

namespace rematlas {

/// What is shown, and where. References must stay valid while it is painted.
struct FlameScene {
    const Graph& graph;
    const FlameData& data;
    double from = 0, to = 0;  ///< shown part of the axis; empty: all of it
    int first_level = 0;      ///< the uppermost one that is shown
    Rect rect;                ///< of the ruler and the rows below it
    double row_height = 18;
    double text_size = 11;
    std::optional<std::pair<double, double>> span = {};  ///< of the axis: what is selected to be summed up
    const IdVector<OpId, char>* marked = nullptr;        ///< ops that are selected
    int cursor = -1;                                     ///< step with a line through it; -1: none
    int hovered = -1, focused = -1;                      ///< boxes with a frame around them; -1: none
    const palette::Paper& paper = palette::kLight;
};

/// Where the parts of a scene lie.
struct FlamePlaces {
    Rect ruler, rows;
    Axis x;
    int shown_levels = 0;  ///< that have room, and are there
};

FlamePlaces places_of(const FlameScene& scene);

/// Where a box lies, cut off at the edges of the rows; without width where it is not seen.
Rect place_of(const FlameScene& scene, int box);

/// The box at a place of the picture; -1: there is none.
int box_at(const FlameScene& scene, Point at);

/// Boxes that are narrower than two points are shades of the columns that they lie in: the cost is that of
/// the shown points, and one look at each box.
void paint_flame(Canvas& canvas, const FlameScene& scene);

/// Room that the ruler and so many levels need.
double flame_height(std::size_t levels, double row_height);

/// "attn", "blocks.3", the operator of a run, "forward" or "recompute" for the boxes above.
std::string flame_name(const FlameData& data, const Graph& graph, const FlameBox& box);

}  // namespace rematlas
