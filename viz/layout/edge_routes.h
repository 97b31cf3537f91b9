// Joins the edges of the whole drawing from their parts in the units (layout_units.h). Only
// `layout_by_clusters` uses this file.
#pragma once

#include <vector>

#include "viz/layout/layout_units.h"
#include "viz/layout/unit_frames.h"

namespace rematlas {

using Spline = std::vector<Point>;  ///< 3n + 1 points, as in `Layout::edges`

/// Returns the parts of an edge in order, joined at the ports through which the edge passes.
Spline joined_route(const EdgePlan& plan, const std::vector<LayoutUnit>& units,
                    const std::vector<UnitFrames>& frames);

/// Returns a route from the right side of an item to the left side of another item. The route is horizontal
/// inside the boxes that contain the items, and turns only between these boxes.
Spline route_across(const Rect& from, const Rect& to, const Rect& from_box, const Rect& to_box);

}  // namespace rematlas
