// Paints a flame chart of the step's runs, for a window and for a file. Level 0 is the highest row.
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

/// The content of a picture and its place. References must stay valid while the picture is painted.
struct FlameScene {
    const Graph& graph;
    const FlameData& data;
    double from = 0, to = 0;  ///< shown part of the axis; if empty, the whole axis is shown
    int first_level = 0;      ///< the highest level that is shown
    Rect rect;                ///< place of the ruler and of the rows below it
    double row_height = 18;
    double text_size = 11;
    std::optional<std::pair<double, double>> span = {};  ///< part of the axis that is selected for sums
    const IdVector<OpId, char>* marked = nullptr;        ///< selected ops
    int cursor = -1;                                     ///< step at which a vertical line is drawn; -1: none
    int hovered = -1, focused = -1;                      ///< boxes with a frame around them; -1: none
    const palette::Paper& paper = palette::kLight;
};

/// The places of the parts of a scene.
struct FlamePlaces {
    Rect ruler, rows;
    Axis x;
    int shown_levels = 0;  ///< number of existing levels for which there is room
};

FlamePlaces places_of(const FlameScene& scene);

/// Returns the place of a box, cut off at the edges of the rows. Its width is 0 if the box is not visible.
Rect place_of(const FlameScene& scene, int box);

/// Returns the box at a place of the picture, or -1 if there is none.
int box_at(const FlameScene& scene, Point at);

/// Paints the chart. Boxes narrower than two points are not drawn one by one: they only shade the columns of
/// the picture that they touch. Cost: linear in the number of boxes and in the width of the picture.
void paint_flame(Canvas& canvas, const FlameScene& scene);

/// Returns the height that the ruler and this number of levels need.
double flame_height(std::size_t levels, double row_height);

/// Returns the name of a box: "attn", "blocks.3", the operator of a run, or "forward" or "recompute" for
/// top-level boxes.
std::string flame_name(const FlameData& data, const Graph& graph, const FlameBox& box);

}  // namespace rematlas
