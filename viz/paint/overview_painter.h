// Paints the memory of a whole schedule in a narrow strip, with a frame around the chosen part.
#pragma once

#include "viz/paint/canvas.h"
#include "viz/paint/lane_data.h"
#include "viz/paint/palette.h"

namespace rematlas {

/// References must stay valid while the picture is painted.
struct OverviewScene {
    const LaneData& data;
    double from = 0, to = 0;  ///< the chosen part, on the axis of the data
    Rect rect;
    const palette::Paper& paper = palette::kLight;
};

/// Returns the rectangle of the chosen part in the picture.
Rect window_of(const OverviewScene& scene);

void paint_overview(Canvas& canvas, const OverviewScene& scene);

}  // namespace rematlas
