// Tests pictures of training runs: no column loses a step or a peak, and lines are painted above the columns.
#include "viz/paint/run_painter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/viz/recording_canvas.h"

namespace rematlas {
namespace {

RunSteps some_run(std::size_t steps) {
    std::mt19937 random(7);
    RunSteps run{.model = "Net", .budget = Bytes(1200), .steps = {}};
    for (std::size_t i = 0; i < steps; ++i) {
        const bool is_original = random() % 50 == 0;
        RunStep step{.number = i,
                     .by = is_original ? StepRunner::original : StepRunner::plan,
                     .seconds = 0.001 * static_cast<double>(1 + random() % 10),
                     .peak = Bytes(random() % 1000)};
        if (!is_original) step.planned_peak = Bytes(1000);
        run.steps.push_back(step);
    }
    return run;
}

RecordingCanvas painted_run(const RunScene& scene) {
    RecordingCanvas canvas;
    paint_run(canvas, scene);
    EXPECT_EQ(canvas.open, 0);
    EXPECT_EQ(canvas.clipped, 0);
    return canvas;
}

TEST(RunPictures, HaveColumnsThatLoseNoStepAndNoPeak) {
    const RunSteps run = some_run(1000);
    for (const std::size_t most : {1u, 7u, 300u, 5000u}) {
        for (const auto& [from, to] : {std::pair{0.0, 1000.0}, {17.4, 333.3}, {999.5, 1000.0}}) {
            const std::vector<RunColumn> columns = run_columns(run, from, to, most);
            ASSERT_FALSE(columns.empty());
            EXPECT_LE(columns.size(), most + 2);
            EXPECT_LE(static_cast<double>(columns.front().begin), from);
            EXPECT_GE(static_cast<double>(columns.back().end), to);
            for (std::size_t c = 0; c < columns.size(); ++c) {
                const RunColumn& column = columns[c];
                EXPECT_EQ(column.begin, c > 0 ? columns[c - 1].end : columns.front().begin);
                EXPECT_LT(column.begin, column.end);
                bool has_original = false;
                for (std::size_t i = column.begin; i < column.end; ++i) {
                    EXPECT_LE(run.steps[i].peak, run.steps[column.shown].peak);
                    EXPECT_LE(run.steps[i].seconds, column.slowest);
                    has_original |= run.steps[i].by == StepRunner::original;
                }
                EXPECT_EQ(column.by, has_original ? StepRunner::original : StepRunner::plan);
            }
        }
    }
}

TEST(RunPictures, KeepTheirColumnsWhileARunGrows) {
    const RunSteps run = some_run(1000);
    RunSteps earlier = run;
    earlier.steps.resize(990);
    const std::vector<RunColumn> before = run_columns(earlier, 0, 990, 100),
                                 now = run_columns(run, 0, 1000, 100);
    for (std::size_t c = 0; c + 1 < before.size(); ++c) {
        EXPECT_EQ(before[c].begin, now[c].begin);
        EXPECT_EQ(before[c].end, now[c].end);
    }
}

TEST(RunPictures, OfManyStepsCostAsMuchAsTheirWidth) {
    const RunSteps run = some_run(200000);
    const std::vector<RunColumn> columns = run_columns(run, 0, 200000, 400);
    const RecordingCanvas canvas =
        painted_run({.run = run, .columns = columns, .from = 0, .to = 200000, .rect = {0, 0, 900, 300}});
    EXPECT_LT(canvas.boxes.size(), 2 * 402 + 20u);
    EXPECT_LT(canvas.paths.size(), 402 + 60u);
}

TEST(RunPictures, ShowTheBudgetThePlansAndWhoRan) {
    RunSteps run = some_run(20);
    run.steps[3].by = StepRunner::original;
    const std::vector<RunColumn> columns = run_columns(run, 0, 20, 400);
    const RunScene scene{
        .run = run, .columns = columns, .from = 0, .to = 20, .cursor = 3, .rect = {0, 0, 900, 300}};
    const RecordingCanvas canvas = painted_run(scene);
    for (const char* words : {"budget", "a plan", "the original", "step 5"})
        EXPECT_TRUE(canvas.says(words)) << words;
    EXPECT_THAT(canvas.tooltips, testing::Contains("what the plan foretells"));
    const Rect plot = places_of(scene).peaks;
    for (const RecordingCanvas::Box& box : canvas.boxes) EXPECT_GE(box.rect.height, 0);
    EXPECT_LT(places_of(scene).bytes.at(1200), plot.y + plot.height);
    EXPECT_GT(places_of(scene).bytes.at(1200), plot.y) << "the budget is in the picture";
}

TEST(RunPictures, AreNotFlattenedByABudgetFarAbove) {
    RunSteps run = some_run(20);
    run.budget = Bytes(1000000);
    const std::vector<RunColumn> columns = run_columns(run, 0, 20, 400);
    const RunScene scene{.run = run, .columns = columns, .from = 0, .to = 20, .rect = {0, 0, 900, 300}};
    EXPECT_LT(places_of(scene).bytes.high, 1100);
    EXPECT_FALSE(painted_run(scene).says("budget"));
}

}  // namespace
}  // namespace rematlas
