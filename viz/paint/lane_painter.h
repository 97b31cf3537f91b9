// Paints one lane of a schedule: its runs as bars, joined or shaded if they are too narrow to be
// distinguished.
#pragma once

#include "viz/paint/schedule_painter.h"

namespace rematlas {

/// Paints a lane. `x` is the shown part of the axis over the width of `rect`. Neighbouring runs of one module
/// are one bar. Two runs are of the same module if the first `level` parts of their module paths are equal.
void paint_lane(Canvas& canvas, const ScheduleScene& scene, const Axis& x, int level, DrawnLane lane,
                const Rect& rect);

/// Returns the deepest level of modules at which the lane of the forward pass has few enough stretches to be
/// distinguished. If no forward run is shown, the lane of the backward pass counts.
int module_level(const LaneData& data, const Axis& x);

}  // namespace rematlas
