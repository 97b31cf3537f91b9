// One lane of a schedule: its runs as bars, joined or shaded where they are narrower than can be told apart.
#pragma once

#include "viz/paint/schedule_painter.h"

namespace rematlas {

/// `x`: the shown part of the axis, over the width of `rect`. Neighbours of one module are one bar, modules
/// told apart by the first `level` parts of their paths.
void paint_lane(Canvas& canvas, const ScheduleScene& scene, const Axis& x, int level, DrawnLane lane,
                const Rect& rect);

/// The deepest level of modules at which the forward pass, or where it is not shown the backward pass, has no more
/// stretches than can be told apart: how many first parts of module paths tell the bars of a lane apart.
int module_level(const LaneData& data, const Axis& x);

}  // namespace rematlas
