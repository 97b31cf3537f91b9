// Paints the trade-off between memory and time, with a curve for each solver and kind of copies, for a window
// and for a file.
#pragma once

#include <optional>
#include <vector>

#include "core/planning/sweep.h"
#include "viz/paint/axis.h"
#include "viz/paint/canvas.h"
#include "viz/paint/palette.h"

namespace rematlas {

/// The shown part of the axes: bytes, and overheads (1.1 is ten percent more time).
struct SweepRange {
    double least = 0, most = 1;
    double fastest = 1, slowest = 2;
};

/// A schedule, given by its peak and its overhead.
struct SweepSpot {
    Bytes peak;
    double overhead = 1;
};

/// The content of a picture and its place. The sweep must stay valid while the picture is painted.
struct SweepScene {
    const Sweep& sweep;
    std::optional<Bytes> keep_all = {};    ///< peak without recomputation
    std::optional<Bytes> least = {};       ///< proven: no schedule of any curve has a peak below these bytes
    std::optional<SweepRange> range = {};  ///< nullopt: the range that `whole_range` returns

    Rect rect;                  ///< place of everything, including the names of the axes and the legend
    bool legend_above = false;  ///< whether the legend is in rows above the plot; else it is in a box beside
                                ///< the plot
    double text_size = 10;

    std::optional<Bytes> budget = {};     ///< shown as a line
    std::optional<SweepSpot> shown = {};  ///< the plan that other views show
    int hovered_curve = -1, hovered_point = -1;
    const palette::Paper& paper = palette::kLight;
};

/// A schedule of the sweep, and where it is painted.
struct SweepMarker {
    int curve = 0, point = 0;  ///< indices into the sweep
    Point at;
};

/// The places of the parts of a scene.
struct SweepPlaces {
    Rect plot, legend;
    Axis x, y;  ///< `x` in bytes, `y` in overheads
};

/// Returns the range that shows the schedules that were found and their bounds. A curve that ends far above
/// most other curves does not count: it is cut off at the top of the plot, so that it does not flatten the
/// other curves.
SweepRange whole_range(const SweepScene& scene);

SweepPlaces places_of(const SweepScene& scene, const TextRuler& ruler);

/// Returns a marker for each schedule that was found and whose peak is in the plot's range of bytes. The
/// markers are in the order of the sweep. A schedule that is too slow for the plot has its marker at the
/// plot's upper edge. Schedules below the plot have no markers.
std::vector<SweepMarker> sweep_markers(const SweepScene& scene, const TextRuler& ruler);

void paint_sweep(Canvas& canvas, const SweepScene& scene);

}  // namespace rematlas
