#include "viz/paint/compare_painter.h"

#include <gtest/gtest.h>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "tests/viz/layered_graph.h"
#include "tests/viz/recording_canvas.h"

namespace rematlas {
namespace {

/// Compares a schedule that runs each op once with a schedule that runs the first op two more times.
class ComparePainters : public testing::Test {
  protected:
    void SetUp() override {
        const FlatGraph flat = flatten(graph);
        once = again = lower(flat, keep_all_sequence(flat));
        const TensorId made = graph.ops[OpId(0)].outputs.front();
        for (int i = 0; i < 2; ++i) again.insert(again.begin(), {Step::run(OpId(0)), Step::free(made)});
        found = compare(graph, once, again).take();
        lanes_a = lane_data(graph, once, *simulate(graph, once), LaneAxis::time);
        lanes_b = lane_data(graph, again, *simulate(graph, again), LaneAxis::time);
        alone_a = bars_alone(lanes_a, found.in_b);
        alone_b = bars_alone(lanes_b, found.in_a);
    }
    CompareScene scene() const {
        return {.graph = graph,
                .a = {"A", "A: once", once, lanes_a, alone_a},
                .b = {"B", "B: again", again, lanes_b, alone_b},
                .rect = {0, 0, 900, 400}};
    }

    Graph graph = LayeredGraph::make(4);
    std::vector<Step> once, again;
    ScheduleDiff found;
    LaneData lanes_a, lanes_b, alone_a, alone_b;
};

TEST_F(ComparePainters, WhatOnlyOneDoesIsItsExtraRuns) {
    EXPECT_TRUE(alone_a.bars.empty());
    ASSERT_EQ(alone_b.bars.size(), 2u);
    for (const LaneBar& bar : alone_b.bars)
        EXPECT_EQ(again[static_cast<std::size_t>(bar.step)], Step::run(OpId(0)));
}

TEST_F(ComparePainters, BothHaveOneAxisAndOneScaleOfBytes) {
    const ComparePlaces places = places_of(scene());
    EXPECT_DOUBLE_EQ(places.x.high, lanes_b.length) << "the longer one";
    EXPECT_GE(places.y.high, static_cast<double>(std::max(lanes_a.peak, lanes_b.peak)));
    EXPECT_GT(places.b.alone.y, places.a.alone.y);
    for (const Rect& lane : places.a.lanes) EXPECT_LT(lane.y, places.a.alone.y);
    for (const Rect& lane : places.b.lanes) EXPECT_GT(lane.y, places.b.alone.y);
    EXPECT_GE(places.memory.y, places.b.all.y + places.b.all.height);
}

TEST_F(ComparePainters, NamesBothAndWhatOnlyOneDoes) {
    RecordingCanvas canvas;
    CompareScene s = scene();
    s.a.cursor = 3;
    s.b.cursor = found.in_b[3];
    paint_comparison(canvas, s);
    EXPECT_EQ(canvas.open, 0);
    EXPECT_EQ(canvas.clipped, 0);
    for (const char* words : {"A: once", "B: again", "only in A", "only in B"})
        EXPECT_TRUE(std::any_of(canvas.texts.begin(), canvas.texts.end(),
                                [&](const RecordingCanvas::Text& text) { return text.text == words; }))
            << words;
    const ComparePlaces places = places_of(s);
    const auto extra =
        std::count_if(canvas.boxes.begin(), canvas.boxes.end(), [&](const RecordingCanvas::Box& box) {
            return box.rect.y >= places.b.alone.y && box.rect.y < places.b.alone.y + places.b.alone.height &&
                   box.rect.width < places.b.alone.width;
        });
    EXPECT_GE(extra, 1);
}

}  // namespace
}  // namespace rematlas
