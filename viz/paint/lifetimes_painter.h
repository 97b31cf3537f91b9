// Paints tensors as bars over time, from the op that makes them to the step that frees them, for a window and
// for a file.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "viz/paint/axis.h"
#include "viz/paint/canvas.h"
#include "viz/paint/palette.h"
#include "viz/paint/step_spans.h"

namespace rematlas {

/// A tensor from when it is made to when it is freed, or the workspace of the running op.
struct LifetimeBar {
    std::string name, shape;
    TensorId tensor;  ///< invalid for a workspace
    OpId maker;       ///< the op that makes the tensor or has the workspace; invalid if no op does
    Phase phase = Phase::forward;  ///< phase of `maker`
    bool again = false;            ///< whether `maker` had run before
    Bytes bytes;                   ///< bytes that the bar's tensor or workspace takes at the cursor
    int made = -1;   ///< the step that makes the tensor or brings it back; -1: it existed from the beginning
    int freed = -1;  ///< the step that frees the tensor or writes over it; -1: it stays to the end
    std::vector<int> reads = {};  ///< steps that read the tensor, ascending
    double begin = 0, end = 0;    ///< places on the axis
    /// Begin and end of the longest stretch between two uses of the tensor; its making counts as a use. Begin
    /// and end are equal if there is no such stretch.
    double idle_begin = 0, idle_end = 0;

    double idle() const { return idle_end - idle_begin; }
};

/// The tensors held at a step, as rows.
struct LifetimeBars {
    StepSpans spans;
    int step = -1;                       ///< -1 if there is no schedule
    std::vector<LifetimeBar> bars = {};  ///< from top to bottom
    std::size_t tensors = 0;             ///< number of held tensors, including those without a bar
    Bytes total = {};                    ///< including the workspace
    std::size_t more = 0;                ///< number of held tensors without a bar
    Bytes more_bytes = {};
};

/// The content of a picture and its place. References must stay valid while the picture is painted.
struct LifetimesScene {
    const LifetimeBars& data;
    double from = 0, to = 0;  ///< shown part of the axis; if empty, the whole axis is shown
    double scroll = 0;        ///< how far the rows are scrolled up, in points
    Rect rect;                ///< place of names, ruler and rows
    double names_width = 240;
    double row_height = 20;
    double text_size = 11;
    int current = -1;  ///< the highlighted bar; -1: none
    const palette::Paper& paper = palette::kLight;
};

struct LifetimesPlaces {
    Rect names, ruler, rows;  ///< `names` and `rows` are side by side, below the ruler
    Axis x;
};

LifetimesPlaces places_of(const LifetimesScene& scene);

/// Returns the bar whose row contains a place of the picture, or -1 if there is none.
int bar_at(const LifetimesScene& scene, Point at);

/// Returns the step of the mark that is nearest to `at` in the row of `at`. A mark shows the making or a read
/// of the tensor. Returns -1 if no mark is within reach.
int mark_at(const LifetimesScene& scene, Point at);

/// Paints the visible rows. Marks of reads that nearly coincide are painted as one.
void paint_lifetimes(Canvas& canvas, const LifetimesScene& scene);

/// Returns the height of all rows, including the row for tensors without a bar.
double rows_height(const LifetimeBars& data, double row_height);

/// Returns the length of the bar's idle stretch: "3.1 ms", or "12 runs" if the axis counts runs.
std::string idle_text(const LifetimeBars& data, const LifetimeBar& bar);

}  // namespace rematlas
