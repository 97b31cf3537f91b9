// Paints the memory of the host over time, below the memory of the device.
#pragma once

#include "viz/paint/schedule_painter.h"

namespace rematlas {

/// Paints into `places.host`, on the scale `places.host_y`, with the budget of the host if there is one.
void paint_host(Canvas& canvas, const ScheduleScene& scene, const SchedulePlaces& places);

}  // namespace rematlas
