// Turns memory over time into a staircase that a picture can show.
#pragma once

#include <vector>

#include "viz/paint/axis.h"
#include "viz/paint/canvas.h"
#include "viz/paint/lane_data.h"

namespace rematlas {

/// Returns the part of `memory` that the axis `x` shows. `length`: the place on the axis at which the memory
/// ends. The picture is divided into columns of half a point. Of each column, only the extremes and the last
/// value are kept, so that no peak is lost. Cost: linear in the shown entries of `memory`.
std::vector<Point> staircase(const std::vector<MemoryPoint>& memory, double length, const Axis& x,
                             const Axis& y);

/// Returns the line through the points.
Path line_through(const std::vector<Point>& points);

/// Returns the area between the line through the points and the height `bottom`.
Path area_under(const std::vector<Point>& points, double bottom);

/// Paints the line through the points and, unless `fill` is nullopt, the area between the line and the height
/// `bottom`.
void paint_curve(Canvas& canvas, const std::string& tooltip, const std::vector<Point>& points, double bottom,
                 const std::optional<Color>& fill, const Pen& pen);

}  // namespace rematlas
