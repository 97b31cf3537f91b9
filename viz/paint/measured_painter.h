// Paints measured memory over the events of a trace: bands by place in the user's code, the allocated and the
// reserved bytes, and the curve of a plan over them. Also paints the segments of the allocator with their
// gaps.
#pragma once

#include <optional>
#include <vector>

#include "viz/paint/axis.h"
#include "viz/paint/canvas.h"
#include "viz/paint/measured_bands.h"
#include "viz/paint/palette.h"

namespace rematlas {

/// References must stay valid while the picture is painted.
struct MeasuredScene {
    const MeasuredBands& bands;
    const BandColumns& columns;  ///< columns for `from` .. `to`
    double from = 0, to = 0;     ///< moments
    std::optional<TraceMoment> cursor = {};
    const std::vector<std::int64_t>* legend = nullptr;  ///< bytes by band: at the cursor, or at the peak if
                                                        ///< there is no cursor
    const std::vector<MemoryPoint>* plan = nullptr;     ///< result of `laid_over`
    Rect rect = {};
    double text_size = 11;
    const palette::Paper& paper = palette::kLight;
};

struct MeasuredPlaces {
    Rect plot;
    Rect legend;  ///< has width 0 if there is no room
    Axis x, y;    ///< `x` in moments, `y` in bytes
};

MeasuredPlaces places_of(const MeasuredScene& scene);

/// Paints the scene. Cost: columns times bands.
void paint_measured(Canvas& canvas, const MeasuredScene& scene);

/// Returns the colour of a band. The same place has the same colour in all pictures of a measurement.
Color band_color(std::size_t band, std::size_t bands, const palette::Paper& paper);

struct SegmentsScene {
    const MeasuredDevice& device;
    Rect rect = {};
    double text_size = 11;
    const palette::Paper& paper = palette::kLight;
};

/// Paints a row for each segment, the largest first, as long as there is room. Held blocks are filled; gaps
/// stay empty.
void paint_segments(Canvas& canvas, const SegmentsScene& scene);

}  // namespace rematlas
