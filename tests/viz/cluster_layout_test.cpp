#include "viz/layout/cluster_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/hierarchy/decompose.h"
#include "tests/viz/layered_graph.h"
#include "viz/block_view/block_view.h"
#include "viz/layout/layout_worker.h"

namespace rematlas {
namespace {

/// A stand-in for Graphviz that counts its requests. It puts items below each other, and draws each edge from
/// the upper left corner of one item to that of the other.
class Stacker {
  public:
    int requests = 0, calls = 0;
    std::size_t largest = 0;  ///< most items in one request

    LayOut function() {
        return [this](std::span<const LayoutRequest> asked) -> Result<std::vector<Layout>> {
            ++calls;
            std::vector<Layout> layouts;
            for (const LayoutRequest& request : asked) layouts.push_back(stacked(request));
            return layouts;
        };
    }

  private:
    Layout stacked(const LayoutRequest& request) {
        ++requests;
        largest = std::max(largest, request.items.size());
        Layout layout;
        double y = 0, width = 0;
        for (LayoutRow row : {LayoutRow::first, LayoutRow::any, LayoutRow::last}) {
            for (std::size_t i = 0; i < request.items.size(); ++i) {
                const LayoutItem& item = request.items[i];
                layout.items.resize(request.items.size());
                if (item.row != row) continue;
                layout.items[i] = {item.cluster == 1 ? 1000.0 : 0.0, y, item.size.width, item.size.height};
                y += item.size.height + 20;
                width = std::max(width, layout.items[i].x + item.size.width);
            }
        }
        layout.size = {width, y};
        for (const LayoutEdge& edge : request.edges) {
            const Rect &a = layout.items[edge.from], &b = layout.items[edge.to];
            const Point from{a.x, a.y}, to{b.x, b.y};
            layout.edges.push_back({from, from, to, to});
        }
        for (std::size_t i = 0; i < request.clusters.size(); ++i)
            layout.clusters.push_back({1000.0 * static_cast<double>(i), 0, 900, y});
        return layout;
    }
};

LayoutRequest request_of(const Graph& graph, const Blocks& blocks, const ExpandedBlocks& expanded) {
    const BlockView view = make_block_view(graph, blocks, expanded);
    return layout_request(view, std::vector<Size>(view.items.size(), {90, 30}),
                          std::vector<Size>(view.clusters.size(), {40, 12}));
}

LayoutRequest whole_network(int layers) {
    const Graph graph = LayeredGraph::make(layers);
    const Blocks blocks = decompose(graph);
    return request_of(graph, blocks, expanded_to_depth(blocks, full_depth(blocks)));
}

/// Makes a request with forward ops 0 .. count - 1 and their gradients beside them, without frames.
LayoutRequest flat_ladder(int count) {
    LayoutRequest request;
    request.items.assign(2 * count, {{90, 30}});
    for (int i = 0; i < count; ++i) {
        const int gradient = 2 * count - 1 - i;
        if (i + 1 < count) request.edges.push_back({i, i + 1, EdgeRole::down, 4});
        if (i > 0 && i + 7 < count) request.edges.push_back({i - 1, i + 7, EdgeRole::down, 4});
        if (i + 1 < count) request.edges.push_back({gradient - 1, gradient, EdgeRole::up, 4});
        request.edges.push_back({i, gradient, EdgeRole::rung, 8});
    }
    return request;
}

int asked_for(int layers) {
    Stacker stacker;
    LayoutCache cache;
    EXPECT_TRUE(layout_by_clusters(whole_network(layers), cache, stacker.function()));
    return stacker.requests;
}

TEST(ClusterLayout, EqualLayersAreLaidOutOnce) {
    EXPECT_EQ(asked_for(24), asked_for(12));
    EXPECT_LT(asked_for(12), 12);
}

TEST(ClusterLayout, WhatIsKnownIsNotAskedAgain) {
    Stacker stacker;
    LayoutCache cache;
    const LayoutRequest request = whole_network(8);
    const auto first = layout_by_clusters(request, cache, stacker.function());
    const int asked = stacker.requests;
    const auto second = layout_by_clusters(request, cache, stacker.function());
    ASSERT_TRUE(first && second);
    EXPECT_EQ(stacker.requests, asked);
    EXPECT_EQ(*first, *second);
}

TEST(ClusterLayout, AnotherExpandedBlockAsksForItAndTheFramesAroundItAlone) {
    const Graph graph = LayeredGraph::make(40);
    const Blocks blocks = decompose(graph);
    ExpandedBlocks expanded = expanded_to_depth(blocks, 2);
    Stacker stacker;
    LayoutCache cache;
    ASSERT_TRUE(layout_by_clusters(request_of(graph, blocks, expanded), cache, stacker.function()));
    BlockId layer;
    for (BlockId b : blocks.ids())
        if (blocks[b].path == "h.17") layer = b;
    ASSERT_TRUE(layer.valid());
    int around = 1;  // frames around the layer; starts at 1, because the sheet counts as a frame
    for (BlockId b = layer; b.valid(); b = blocks[b].parent) {
        expand(blocks, expanded, b);
        ++around;
    }
    const int before = stacker.requests;
    ASSERT_TRUE(layout_by_clusters(request_of(graph, blocks, expanded), cache, stacker.function()));
    EXPECT_GT(stacker.requests, before);
    EXPECT_LE(stacker.requests - before, around);
}

TEST(ClusterLayout, WhatWasLaidOutBeforeAStopIsKept) {
    const LayoutRequest request = flat_ladder(3000);
    Stacker at_once;
    LayoutCache other;
    const auto whole = layout_by_clusters(request, other, at_once.function());
    ASSERT_TRUE(whole);

    Stacker stacker;
    LayoutCache cache;
    std::stop_source stop;
    const LayOut stops = [&](std::span<const LayoutRequest> asked) {
        if (stacker.calls == 1) stop.request_stop();
        return stacker.function()(asked);
    };
    EXPECT_FALSE(layout_by_clusters(request, cache, stops, stop.get_token()));
    EXPECT_GT(stacker.requests, 0);
    EXPECT_LT(stacker.requests, at_once.requests);
    const auto resumed = layout_by_clusters(request, cache, stacker.function());
    ASSERT_TRUE(resumed);
    EXPECT_EQ(stacker.requests, at_once.requests) << "nothing was laid out twice";
    EXPECT_EQ(*resumed, *whole);
}

TEST(ClusterLayout, NoSingleLayoutGrowsWithTheGraph) {
    std::size_t largest = 0;
    for (int count : {500, 5000}) {
        Stacker stacker;
        LayoutCache cache;
        const LayoutRequest request = flat_ladder(count);
        const auto layout = layout_by_clusters(request, cache, stacker.function());
        ASSERT_TRUE(layout);
        EXPECT_EQ(layout->items.size(), request.items.size());
        EXPECT_TRUE(layout->clusters.empty()) << "sections are not drawn";
        if (largest == 0) largest = stacker.largest;
        EXPECT_LE(stacker.largest, largest + 20);
    }
    EXPECT_LT(largest, 200u);
}

TEST(ClusterLayout, ALongFrameIsCutBesideItsTwin) {
    LayoutRequest request = flat_ladder(300);
    request.clusters = {{-1, {40, 12}, 1}, {-1, {40, 12}, 0}};
    for (int i = 0; i < 600; ++i) request.items[i].cluster = i < 300 ? 0 : 1;
    Stacker stacker;
    LayoutCache cache;
    const auto layout = layout_by_clusters(request, cache, stacker.function());
    ASSERT_TRUE(layout);
    ASSERT_EQ(layout->clusters.size(), 2u);
    EXPECT_EQ(layout->clusters[0].height, layout->clusters[1].height);
    EXPECT_LT(stacker.largest, 200u);
}

TEST(ClusterLayout, AFailureIsPassedOnAndNothingMoreIsAsked) {
    int calls = 0;
    LayoutCache cache;
    const LayOut fails = [&](std::span<const LayoutRequest>) -> Result<std::vector<Layout>> {
        ++calls;
        return Error{"layout: no room"};
    };
    const auto layout = layout_by_clusters(whole_network(4), cache, fails);
    ASSERT_FALSE(layout);
    EXPECT_EQ(layout.error().message, "layout: no room");
    EXPECT_EQ(calls, 1);
}

TEST(ClusterLayout, AStopBetweenTwoLevelsEndsIt) {
    std::stop_source stop;
    Stacker stacker;
    LayoutCache cache;
    const LayOut stops = [&](std::span<const LayoutRequest> requests) {
        stop.request_stop();
        return stacker.function()(requests);
    };
    const auto layout = layout_by_clusters(whole_network(4), cache, stops, stop.get_token());
    ASSERT_FALSE(layout);
    EXPECT_EQ(layout.error().kind, ErrorKind::negative);
    EXPECT_EQ(stacker.calls, 1);
}

TEST(ClusterLayout, AFullCacheForgetsAndStillAnswers) {
    Stacker stacker;
    LayoutCache small(50);
    const LayoutRequest request = whole_network(8);
    const auto first = layout_by_clusters(request, small, stacker.function());
    const auto second = layout_by_clusters(request, small, stacker.function());
    ASSERT_TRUE(first && second);
    EXPECT_EQ(*first, *second);
}

TEST(ClusterLayout, NothingHasAnEmptyLayout) {
    LayoutCache cache;
    const auto layout = layout_by_clusters(LayoutRequest{}, cache, Stacker().function());
    ASSERT_TRUE(layout);
    EXPECT_TRUE(layout->items.empty());
}

// The following tests make layouts with Graphviz and check the positions.

bool crosses(const Rect& a, const Rect& b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
bool holds(const Rect& outer, const Rect& inner) {
    constexpr double slack = 0.1;
    return inner.x >= outer.x - slack && inner.y >= outer.y - slack &&
           inner.x + inner.width <= outer.x + outer.width + slack &&
           inner.y + inner.height <= outer.y + outer.height + slack;
}
double away(Point p, const Rect& r) {
    const double dx = std::max({r.x - p.x, 0.0, p.x - r.x - r.width}),
                 dy = std::max({r.y - p.y, 0.0, p.y - r.y - r.height});
    return std::hypot(dx, dy);
}

class ClusterPictures : public testing::TestWithParam<int> {
  protected:
    void SetUp() override {
        if (find_layout_worker().empty()) GTEST_SKIP() << "no rematlas-layout in this build";
        graph = LayeredGraph::make(GetParam());
        blocks = decompose(graph);
        view = make_block_view(graph, blocks, expanded_to_depth(blocks, full_depth(blocks)));
        request = layout_request(view, std::vector<Size>(view.items.size(), {90, 30}),
                                 std::vector<Size>(view.clusters.size(), {40, 12}));
        auto made = layout_by_clusters(request, cache);
        ASSERT_TRUE(made) << made.error().message;
        layout = made.take();
    }

    Graph graph;
    Blocks blocks;
    BlockView view;
    LayoutRequest request;
    LayoutCache cache;
    Layout layout;
};

TEST_P(ClusterPictures, ItemsKeepTheirSizesAndDoNotOverlap) {
    for (std::size_t i = 0; i < layout.items.size(); ++i) {
        EXPECT_EQ(layout.items[i].width, 90);
        EXPECT_TRUE(holds({0, 0, layout.size.width, layout.size.height}, layout.items[i])) << i;
        for (std::size_t j = 0; j < i; ++j)
            EXPECT_FALSE(crosses(layout.items[i], layout.items[j])) << i << " and " << j;
    }
}

TEST_P(ClusterPictures, FramesHoldWhatIsInThemAndNothingElse) {
    for (std::size_t c = 0; c < layout.clusters.size(); ++c) {
        if (request.clusters[c].parent >= 0) {
            EXPECT_TRUE(holds(layout.clusters[request.clusters[c].parent], layout.clusters[c])) << c;
        }
        for (std::size_t i = 0; i < layout.items.size(); ++i) {
            bool within = false;
            for (int at = request.items[i].cluster; at >= 0; at = request.clusters[at].parent)
                within = within || at == static_cast<int>(c);
            if (within) {
                EXPECT_TRUE(holds(layout.clusters[c], layout.items[i])) << c << " and " << i;
            } else {
                EXPECT_FALSE(crosses(layout.clusters[c], layout.items[i])) << c << " and " << i;
            }
        }
    }
}

TEST_P(ClusterPictures, EdgesLeadFromTheirItemToTheOther) {
    for (std::size_t i = 0; i < request.edges.size(); ++i) {
        const std::vector<Point>& spline = layout.edges[i];
        ASSERT_EQ(spline.size() % 3, 1u);
        ASSERT_GE(spline.size(), 4u);
        EXPECT_LT(away(spline.front(), layout.items[request.edges[i].from]), 2) << i;
        EXPECT_LT(away(spline.back(), layout.items[request.edges[i].to]), 2) << i;
    }
}

TEST_P(ClusterPictures, ForwardRunsDownAndGradientsStandLevelAtItsRight) {
    for (const LayoutEdge& edge : request.edges) {
        const double step = layout.items[edge.to].y - layout.items[edge.from].y;
        EXPECT_FALSE(edge.role == EdgeRole::down && step <= 0);
        EXPECT_FALSE(edge.role == EdgeRole::up && step >= 0);
    }
    for (const LayoutPair& pair : view.pairs) {
        EXPECT_NEAR(layout.items[pair.right].y, layout.items[pair.left].y, 0.1) << view.items[pair.left].path;
        EXPECT_GT(layout.items[pair.right].x, layout.items[pair.left].x) << view.items[pair.left].path;
    }
    for (std::size_t c = 0; c < view.clusters.size(); ++c) {
        const int twin = view.clusters[c].twin;
        if (twin < 0) continue;
        EXPECT_NEAR(layout.clusters[c].y, layout.clusters[twin].y, 0.1);
        EXPECT_NEAR(layout.clusters[c].height, layout.clusters[twin].height, 0.1);
    }
}

TEST_P(ClusterPictures, OneProgramOrSeveralGiveTheSamePicture) {
    LayoutWorker worker;
    LayoutCache own;
    const auto by_one = layout_by_clusters(
        request, own, [&](std::span<const LayoutRequest> requests) { return worker.lay_out(requests); });
    ASSERT_TRUE(by_one) << by_one.error().message;
    EXPECT_EQ(*by_one, layout);
}

TEST(ClusterPicture, SeveralProgramsShareALongFrame) {
    if (find_layout_worker().empty()) GTEST_SKIP() << "no rematlas-layout in this build";
    LayoutCache several, one;
    LayoutWorker worker;
    const LayoutRequest request = flat_ladder(400);
    const auto by_several = layout_by_clusters(request, several);
    const auto by_one = layout_by_clusters(
        request, one, [&](std::span<const LayoutRequest> requests) { return worker.lay_out(requests); });
    ASSERT_TRUE(by_several) << by_several.error().message;
    ASSERT_TRUE(by_one) << by_one.error().message;
    EXPECT_EQ(*by_one, *by_several);
}

TEST(ClusterPicture, TheErrorOfAMissingProgramIsTold) {
    LayoutCache cache;
    const auto layout = layout_by_clusters(flat_ladder(400), cache, {.worker = "/no/such/program"});
    ASSERT_FALSE(layout);
    EXPECT_NE(layout.error().message.find("/no/such/program"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Layers, ClusterPictures, testing::Values(1, 6, 70));

}  // namespace
}  // namespace rematlas
