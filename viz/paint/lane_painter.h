// Paints one lane of a schedule: its runs as bars, joined or shaded if they are too narrow to be
// distinguished.
#pragma once

#include "viz/paint/schedule_painter.h"

namespace rematlas {

/// Paints a lane. `x` is the shown part of the axis over the width of `rect`. Neighbouring runs of one module
/// become one bar. Two runs count as runs of the same module if the first `level` parts of their module paths
/// are equal.
void paint_lane(Canvas& canvas, const ScheduleScene& scene, const Axis& x, int level, DrawnLane lane,
                const Rect& rect);

/// Returns the deepest level of modules at which the stretches of the forward lane are few enough to be
/// distinguished. If no forward run is shown, counts the stretches of the backward lane instead.
int module_level(const LaneData& data, const Axis& x);

/// Paints the ticks of an axis with their labels in the place `ruler`, and a line from each tick to `bottom`.
void paint_ruler(Canvas& canvas, LaneAxis kind, const Axis& x, const Rect& ruler, double bottom,
                 const palette::Paper& paper, double text_size);

}  // namespace rematlas
