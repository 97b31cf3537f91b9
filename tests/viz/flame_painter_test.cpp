#include "viz/paint/flame_painter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/irregular_graph.h"
#include "tests/viz/layered_graph.h"
#include "tests/viz/recording_canvas.h"

namespace rematlas {
namespace {

class FlamePainters : public testing::Test {
  protected:
    void use(Graph made) {
        graph = std::move(made);
        const FlatGraph flat = flatten(graph);
        steps = lower(flat, keep_all_sequence(flat));
        play();
    }
    void play() {
        const auto simulation = simulate(graph, steps);
        ASSERT_TRUE(simulation);
        data = flame_data(graph, steps, *simulation, LaneAxis::time);
    }
    FlameScene scene() const { return {.graph = graph, .data = data, .rect = {0, 0, 1000, 200}}; }
    RecordingCanvas painted(const FlameScene& s) const {
        RecordingCanvas canvas;
        paint_flame(canvas, s);
        EXPECT_EQ(canvas.open, 0);
        EXPECT_EQ(canvas.clipped, 0);
        return canvas;
    }

    Graph graph;
    std::vector<Step> steps;
    FlameData data;
};

TEST_F(FlamePainters, TenThousandOpsCostPointsOfThePictureAndNotBoxes) {
    for (Graph made : {LayeredGraph::make(1250), irregular_graph({.forward_ops = 3300})}) {
        use(std::move(made));
        ASSERT_GT(data.runs.size(), 9'500u);
        ASSERT_GT(data.boxes.size(), 9'500u);
        const FlameScene s = scene();
        const int rows = places_of(s).shown_levels;
        // A row of 1,000 points has room for 500 boxes of two points, and for 500 shaded parts between them.
        EXPECT_LT(painted(s).boxes.size(), static_cast<std::size_t>(rows) * 1000 + 50) << rows << " rows";
    }
}

TEST_F(FlamePainters, RowsThatHaveNoRoomAreNotPainted) {
    use(LayeredGraph::make(4));
    FlameScene s = scene();
    EXPECT_EQ(places_of(s).shown_levels, static_cast<int>(data.levels.size()));
    s.rect.height = flame_height(data.levels.size(), s.row_height) - 2.5 * s.row_height;
    EXPECT_EQ(places_of(s).shown_levels, static_cast<int>(data.levels.size()) - 2);
    s.first_level = static_cast<int>(data.levels.size()) - 1;
    EXPECT_EQ(places_of(s).shown_levels, 1);
    EXPECT_EQ(place_of(s, 0).width, 0) << "the uppermost level is scrolled away";
}

TEST_F(FlamePainters, BoxesLieUnderTheBoxThatTheyLieIn) {
    use(LayeredGraph::make(3));
    const FlameScene s = scene();
    for (std::size_t i = 0; i < data.boxes.size(); ++i) {
        const int index = static_cast<int>(i);
        const Rect place = place_of(s, index);
        ASSERT_GT(place.width, 0);
        EXPECT_EQ(box_at(s, {place.x + place.width / 2, place.y + place.height / 2}), index);
        if (data.boxes[i].parent < 0) continue;
        const Rect above = place_of(s, data.boxes[i].parent);
        EXPECT_GE(place.x, above.x - 1e-6);
        EXPECT_LE(place.x + place.width, above.x + above.width + 1e-6);
        EXPECT_NEAR(place.y, above.y + s.row_height, 1e-6);
    }
    EXPECT_EQ(box_at(s, {500, 5}), -1) << "the ruler";
    EXPECT_EQ(box_at(s, {500, 199}), -1) << "below the rows";
}

TEST_F(FlamePainters, NamesPhasesModulesAndOperators) {
    use(LayeredGraph::make(2));
    FlameScene s = scene();
    s.rect.width = 3000;
    const RecordingCanvas canvas = painted(s);
    for (const char* name : {"forward", "loss", "backward", "h.0", "mlp", "fc addmm"})
        EXPECT_TRUE(canvas.says(name)) << name;
    EXPECT_FALSE(canvas.says("aten::")) << "the operator alone is the name";
    EXPECT_FALSE(std::any_of(canvas.texts.begin(), canvas.texts.end(), [](const RecordingCanvas::Text& text) {
        return text.text == "0" || text.text == "1";
    })) << "a number alone says too little where there is room for more";
}

TEST_F(FlamePainters, WhatRunsAgainHasTheColourOfRecomputation) {
    use(LayeredGraph::make(2));
    const Color color = palette::kLight.pale(palette::kLight.of(Decision::recompute), palette::kLight.bar);
    const auto has_color = [&] {
        const RecordingCanvas canvas = painted(scene());
        return std::any_of(canvas.boxes.begin(), canvas.boxes.end(), [&](const RecordingCanvas::Box& box) {
            return box.fill && same_hue(*box.fill, color);
        });
    };
    EXPECT_FALSE(has_color());
    const TensorId made = graph.ops[OpId(1)].outputs.front();
    const auto first = std::find(steps.begin(), steps.end(), Step::run(OpId(1)));
    steps.insert(first + 1, {Step::free(made), Step::run(OpId(1))});
    play();
    EXPECT_TRUE(has_color());
}

TEST_F(FlamePainters, SelectedOpsAreMarkedAlsoWhereTheyAreNarrow) {
    use(LayeredGraph::make(1250));
    FlameScene s = scene();
    IdVector<OpId, char> marked(graph.ops.size(), 0);
    marked[OpId(5000)] = 1;
    s.marked = &marked;
    const RecordingCanvas canvas = painted(s);
    const auto marks = std::count_if(canvas.boxes.begin(), canvas.boxes.end(), [](const auto& box) {
        return box.fill && same_hue(*box.fill, palette::kLight.mark);
    });
    EXPECT_EQ(marks, 1);
}

TEST_F(FlamePainters, TheSpanTheCursorAndTheFramesAreDrawn) {
    use(LayeredGraph::make(3));
    const std::size_t plain = painted(scene()).calls();
    FlameScene s = scene();
    s.span = {{data.run(2).begin, data.run(5).end}};
    const RecordingCanvas spanned = painted(s);
    const FlamePlaces places = places_of(s);
    const double left = places.x.at(data.run(2).begin), width = places.x.at(data.run(5).end) - left;
    EXPECT_TRUE(std::any_of(spanned.boxes.begin(), spanned.boxes.end(), [&](const RecordingCanvas::Box& box) {
        return std::abs(box.rect.x - left) < 1e-6 && std::abs(box.rect.width - width) < 1e-6 && box.fill &&
               box.fill->alpha < 0.5;
    }));
    FlameScene pointed = scene();
    pointed.cursor = data.run(4).step;
    pointed.focused = 3;
    EXPECT_EQ(painted(pointed).calls(), plain + 2);
}

TEST_F(FlamePainters, ZoomedInEveryRunHasItsPlaceInTheWidth) {
    use(LayeredGraph::make(1250));
    FlameScene s = scene();
    s.from = data.run(4000).begin;
    s.to = data.run(4003).end;
    EXPECT_NEAR(place_of(s, box_at(s, {500, 30})).width, places_of(s).rows.width, 1) << "the forward pass";
    EXPECT_TRUE(painted(s).says("gelu"));
    EXPECT_LT(painted(s).boxes.size(), 40u);
}

}  // namespace
}  // namespace rematlas
