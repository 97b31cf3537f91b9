// Tensors as bars over time, from what makes them to what frees them, for a window and for a file.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "viz/paint/axis.h"
#include "viz/paint/canvas.h"
#include "viz/paint/palette.h"
#include "viz/paint/step_spans.h"

namespace rematlas {

/// A tensor from one making to its end, or the workspace of the op that runs.
struct LifetimeBar {
    std::string name, shape;
    TensorId tensor;  ///< invalid for a workspace
    OpId maker;       ///< that makes the tensor, or has the workspace; invalid for what no op makes
    Phase phase = Phase::forward;  ///< of the maker
    bool again = false;            ///< the maker has run before
    Bytes bytes;                   ///< that it takes at the cursor
    int made = -1;   ///< the step that makes it or brings it back; -1: it was there from the beginning
    int freed = -1;  ///< the step that frees it or writes over it; -1: it stays to the end
    std::vector<int> reads = {};  ///< steps that read it, ascending
    double begin = 0, end = 0;    ///< on the axis
    /// The longest stretch between two uses, of which the making is one. Equal ends: there is none.
    double idle_begin = 0, idle_end = 0;

    double idle() const { return idle_end - idle_begin; }
};

/// What is held at a step, as rows.
struct LifetimeBars {
    StepSpans spans;
    int step = -1;                       ///< -1: there is no schedule
    std::vector<LifetimeBar> bars = {};  ///< from above
    std::size_t tensors = 0;             ///< that are held, with those that have no bar
    Bytes total = {};                    ///< with the workspace
    std::size_t more = 0;                ///< held, and without a bar
    Bytes more_bytes = {};
};

/// What is shown, and where. References must stay valid while it is painted.
struct LifetimesScene {
    const LifetimeBars& data;
    double from = 0, to = 0;  ///< shown part of the axis; empty: all of it
    double scroll = 0;        ///< by which the rows are moved up, in points
    Rect rect;                ///< of names, ruler and rows
    double names_width = 240;
    double row_height = 20;
    double text_size = 11;
    int current = -1;  ///< the bar that stands out; -1: none
    const palette::Paper& paper = palette::kLight;
};

struct LifetimesPlaces {
    Rect names, ruler, rows;  ///< `names` and `rows` lie beside each other, below the ruler
    Axis x;
};

LifetimesPlaces places_of(const LifetimesScene& scene);

/// The bar in whose row a place of the picture lies; -1: none.
int bar_at(const LifetimesScene& scene, Point at);

/// The step whose mark in that row is the nearest, where one is within reach: the making, a read. -1: none
/// is.
int mark_at(const LifetimesScene& scene, Point at);

/// Paints the rows that are seen. Marks that share a point of the picture are one.
void paint_lifetimes(Canvas& canvas, const LifetimesScene& scene);

/// Room that all rows need, the one for what has no bar included.
double rows_height(const LifetimeBars& data, double row_height);

/// "3.1 ms", or "12 runs" where the axis counts them.
std::string idle_text(const LifetimeBars& data, const LifetimeBar& bar);

}  // namespace rematlas
