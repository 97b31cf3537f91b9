#include "viz/paint/blocks_painter.h"

#include <gtest/gtest.h>

#include "core/hierarchy/decompose.h"
#include "tests/viz/layered_graph.h"
#include "tests/viz/recording_canvas.h"

namespace rematlas {
namespace {

class BlocksPainters : public testing::Test {
  protected:
    BlocksPainters() {
        view = make_block_view(graph, blocks, expanded_to_depth(blocks, 2));
        const std::vector<Size> sizes = item_sizes(view, ruler);
        double y = 30;
        for (const Size& size : sizes) {
            layout.items.push_back({40, y, size.width, size.height});
            y += size.height + 20;
        }
        for (const BlockViewEdge& edge : view.edges) {
            const Rect &a = layout.items[edge.from], &b = layout.items[edge.to];
            layout.edges.push_back({{a.x, a.y}, {a.x + 20, a.y}, {b.x + 20, b.y}, {b.x, b.y}});
        }
        for (std::size_t i = 0; i < view.clusters.size(); ++i) layout.clusters.push_back({10, 10, 380, y});
        layout.size = {400, y};
    }
    RecordingCanvas painted(const BlockScene& scene) const {
        RecordingCanvas canvas;
        paint_blocks(canvas, scene);
        EXPECT_EQ(canvas.open, 0);
        return canvas;
    }
    BlockScene at(double detail) const { return {.view = view, .layout = layout, .detail = detail}; }

    Graph graph = LayeredGraph::make(6);
    Blocks blocks = decompose(graph);
    BlockView view;
    Layout layout;
    RecordingCanvas ruler;
};

TEST_F(BlocksPainters, ShowLessTheFartherAwayTheyAreSeen) {
    std::size_t texts = painted(at(2)).texts.size(), calls = painted(at(2)).calls();
    EXPECT_GT(texts, 2 * view.items.size());
    for (double detail : {0.45, 0.32, 0.2, 0.1, 0.02}) {
        const RecordingCanvas canvas = painted(at(detail));
        EXPECT_LE(canvas.texts.size(), texts) << detail;
        EXPECT_LE(canvas.calls(), calls) << detail;
        texts = canvas.texts.size();
        calls = canvas.calls();
    }
    EXPECT_EQ(texts, 0u);
    EXPECT_EQ(calls, view.items.size() + view.edges.size() + view.clusters.size());
}

TEST_F(BlocksPainters, FarAwayEdgesAreStillAsWideAsAPixelAlmost) {
    for (double detail : {2.0, 0.1, 0.01}) {
        const RecordingCanvas canvas = painted(at(detail));
        for (const RecordingCanvas::Line& line : canvas.paths) {
            if (line.pen) {
                EXPECT_GE(line.pen->width * detail, 0.69) << detail;
            }
        }
    }
}

TEST_F(BlocksPainters, OnlyWhatIsSeenIsPainted) {
    BlockScene scene = at(2);
    const Rect& first = layout.items[0];
    scene.part = Rect{first.x, first.y, 5, 5};
    const std::vector<int> no_edges;
    scene.edges = &no_edges;
    const RecordingCanvas canvas = painted(scene);
    EXPECT_TRUE(canvas.says(item_title(view.items[0])));
    EXPECT_LE(canvas.texts.size(), 3 + view.clusters.size());
}

TEST_F(BlocksPainters, FramesTheSelectionAndTheOpThatRuns) {
    BlockScene scene = at(2);
    const std::vector<int> marked{2};
    scene.marked = &marked;
    scene.running = 4;
    std::vector<Rect> frames;
    for (const RecordingCanvas::Box& box : painted(scene).boxes)
        if (box.pen && !box.fill) frames.push_back(box.rect);
    ASSERT_EQ(frames.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        const Rect& item = layout.items[i == 0 ? 2 : 4];
        EXPECT_LT(frames[i].x, item.x);
        EXPECT_GT(frames[i].x + frames[i].width, item.x + item.width);
        EXPECT_NEAR(frames[i].y + frames[i].height / 2, item.y + item.height / 2, 1e-9);
    }
    std::size_t touched = 0;
    for (const RecordingCanvas::Line& line : painted(scene).paths)
        if (line.pen && same_hue(line.pen->color, scene.paper.ink)) ++touched;
    std::size_t edges = 0;
    for (const BlockViewEdge& edge : view.edges)
        if (edge.from == 2 || edge.to == 2) ++edges;
    EXPECT_EQ(touched, edges) << "its edges are marked with it";
}

TEST_F(BlocksPainters, ColoursTellDecisionsOfTheForwardPassAndElsePhases) {
    BlockViewItem item = view.items[0];
    item.phase = Phase::forward;
    item.made = {Bytes(1), Bytes(5), Bytes(2)};
    EXPECT_TRUE(same_hue(item_color(item, true, Coloring::decision), palette::of(Decision::recompute)));
    EXPECT_TRUE(same_hue(item_color(item, true, Coloring::phase), palette::of(Phase::forward)));
    EXPECT_TRUE(same_hue(item_color(item, false, Coloring::decision), palette::of(Phase::forward)));
    item.phase = Phase::backward;
    EXPECT_TRUE(same_hue(item_color(item, true, Coloring::decision), palette::of(Phase::backward)));
}

TEST_F(BlocksPainters, ItemsHoldTheirTexts) {
    const std::vector<Size> sizes = item_sizes(view, ruler);
    const RecordingCanvas canvas = painted(at(2));
    for (std::size_t i = 0; i < view.items.size(); ++i) {
        EXPECT_GE(sizes[i].width, ruler.text_width(item_title(view.items[i]), {.size = 13}));
        EXPECT_TRUE(canvas.says(item_title(view.items[i])));
        EXPECT_TRUE(canvas.says(item_caption(view.items[i])));
    }
}

TEST_F(BlocksPainters, BlocksThatAreNumbersAreNamedWithWhatTheyAreOf) {
    EXPECT_EQ(numbered_block("0", "encoder.layers.0"), "layers.0");
    EXPECT_EQ(numbered_block("12", "layers.12"), "layers.12");
    EXPECT_EQ(numbered_block("3", "3"), "block 3");
    EXPECT_EQ(numbered_block("attention", "layers.0.attention"), "attention");
}

}  // namespace
}  // namespace rematlas
