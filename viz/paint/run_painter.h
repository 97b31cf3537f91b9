// Paints the steps of a training run: the peak of each step, with the budget and the peak that the plan
// predicted, and the time of each step.
//
//     const std::vector<RunColumn> columns = run_columns(run, from, to, 800);
//     paint_run(canvas, {.run = run, .columns = columns, .from = from, .to = to, .rect = rect});
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/planning/run_steps.h"
#include "viz/paint/axis.h"
#include "viz/paint/canvas.h"
#include "viz/paint/palette.h"

namespace rematlas {

/// Neighbouring steps that share a column of the picture.
struct RunColumn {
    std::size_t begin = 0, end = 0;         ///< steps `begin` to `end` - 1
    std::size_t shown = 0;                  ///< the step with the highest peak
    StepRunner by = StepRunner::evaluated;  ///< the runner that users should notice most: for example, the
                                            ///< original rather than a plan
    double slowest = 0;                     ///< time of the slowest step, in seconds
    std::optional<Bytes> planned = {};      ///< the highest planned peak; absent if no step has a plan
};

/// Returns at most `most` columns for the steps from `from` to `to`, and one more at each end. A column
/// begins at a multiple of its length, so that a step stays in the same column while the run grows. Cost:
/// linear in the steps.
std::vector<RunColumn> run_columns(const RunSteps& run, double from, double to, std::size_t most);

/// References must stay valid while the picture is painted.
struct RunScene {
    const RunSteps& run;
    const std::vector<RunColumn>& columns;   ///< columns for `from` .. `to`
    double from = 0, to = 1;                 ///< steps
    std::optional<std::size_t> cursor = {};  ///< a step
    Rect rect = {};
    double text_size = 11;
    const palette::Paper& paper = palette::kLight;
};

struct RunPlaces {
    Rect peaks, times;
    Axis steps, bytes;
    /// The axis of times, in nanoseconds. A few steps can take much longer than most steps; their bars end at
    /// the top.
    Axis time;
};

RunPlaces places_of(const RunScene& scene);

/// Paints the scene. Cost: linear in the columns.
void paint_run(Canvas& canvas, const RunScene& scene);

Color color_of(StepRunner runner, const palette::Paper& paper);
/// Returns the name of a runner for users, in the language of the pictures.
std::string runner_words(StepRunner runner);

}  // namespace rematlas
