// Paints the trade-off between memory and time, with a curve for each solver and the copies that it may
// make, for a window and for a file.
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

/// A schedule by its peak and its overhead.
struct SweepSpot {
    Bytes peak;
    double overhead = 1;
};

/// What is shown, and where. The sweep must stay valid while it is painted.
struct SweepScene {
    const Sweep& sweep;
    std::optional<Bytes> keep_all = {};    ///< peak without recomputation
    std::optional<Bytes> least = {};       ///< below, no schedule of any of the curves exists
    std::optional<SweepRange> range = {};  ///< absent: `whole_range`

    Rect rect;                  ///< of everything: names of the axes and legend included
    bool legend_above = false;  ///< in rows above the plot; else in a box beside it
    double text_size = 10;

    std::optional<Bytes> budget = {};     ///< a line
    std::optional<SweepSpot> shown = {};  ///< the plan that other views show
    int hovered_curve = -1, hovered_point = -1;
    const palette::Paper& paper = palette::kLight;
};

/// A schedule of the sweep and where it is painted.
struct SweepMarker {
    int curve = 0, point = 0;  ///< indices into the sweep
    Point at;
};

/// Where the parts of a scene lie.
struct SweepPlaces {
    Rect plot, legend;
    Axis x, y;  ///< bytes and overheads
};

/// The range of all schedules that were found. A curve far above the others does not flatten them, because
/// it leaves the plot at the top.
SweepRange whole_range(const SweepScene& scene);

SweepPlaces places_of(const SweepScene& scene, const TextRuler& ruler);

/// The schedules that were found and lie in the plot, in the order of the sweep.
std::vector<SweepMarker> sweep_markers(const SweepScene& scene, const TextRuler& ruler);

void paint_sweep(Canvas& canvas, const SweepScene& scene);

}  // namespace rematlas
