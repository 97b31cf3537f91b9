#include "app/explorer/jobs/ladder_controller.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QThread>
#include <numeric>

#include "tests/app/explorer/stacked_layout.h"
#include "tests/app/explorer/training_chain.h"
#include "viz/layout/layout_worker.h"

namespace rematlas::explorer {
namespace {

BlockId block_named(const LoadedGraph& graph, const std::string& name, Phase phase) {
    for (BlockId id : graph.graph.blocks.ids()) {
        if (graph.graph.blocks[id].name == name && graph.facts[id].phase == phase) return id;
    }
    return {};
}

class Ladders : public testing::Test {
  protected:
    void show(int layers) {
        graph = loaded_chain(layers);
        controller.set_layout_function(stacked);
        controller.set_graph(graph);
        settle();
    }
    void settle() {
        ASSERT_TRUE(eventually([&] { return !controller.running(); }));
    }

    GraphPtr graph;
    LadderController controller;
};

TEST_F(Ladders, EveryOpIsShownByOneItem) {
    show(6);
    ASSERT_TRUE(controller.ladder());
    for (OpId op : graph->graph.ops.ids()) EXPECT_GE(controller.ladder()->item_of[op], 0);
    EXPECT_EQ(controller.ladder()->layout.items.size(), controller.ladder()->view.items.size());
}

TEST_F(Ladders, TwinsExpandAndCollapseTogether) {
    show(6);
    controller.set_depth(2);
    settle();
    const BlockId forward = block_named(*graph, "0", Phase::forward);
    ASSERT_TRUE(forward.valid());
    const BlockId backward = graph->graph.blocks[forward].twin;
    ASSERT_TRUE(backward.valid());
    const bool was = controller.is_expanded(forward);
    EXPECT_EQ(controller.is_expanded(backward), was);
    controller.toggle(forward);
    settle();
    EXPECT_EQ(controller.is_expanded(forward), !was);
    EXPECT_EQ(controller.is_expanded(backward), !was);
    controller.toggle(backward);
    settle();
    EXPECT_EQ(controller.is_expanded(forward), was);
    EXPECT_EQ(controller.is_expanded(backward), was);
}

/// Returns the layer with this number in the forward pass of the chain.
BlockId layer(const LoadedGraph& graph, int number) {
    return block_named(graph, std::to_string(number), Phase::forward);
}

class FoldedLadders : public Ladders {
  protected:
    /// Expands the ladder until the layers are visible. All layers except the first one are then one folded
    /// item. The first layer is different, because it reads the input.
    void show_layers(int layers) {
        show(layers);
        int depth = 0;
        for (BlockId b = graph->graph.blocks[layer(*graph, 1)].parent; b.valid(); ++depth)
            b = graph->graph.blocks[b].parent;
        controller.set_depth(depth);
        settle();
        ASSERT_EQ(shown_with(1).size(), static_cast<std::size_t>(layers - 1));
    }
    const BlockViewItem& item_of_layer(int number) const {
        const OpId first = graph->facts[layer(*graph, number)].first;
        return controller.ladder()->view.items[controller.ladder()->item_of[first]];
    }
    /// Returns all blocks that share an item with layer `number`.
    std::vector<BlockId> shown_with(int number) const { return item_of_layer(number).run; }
};

TEST_F(FoldedLadders, ARunShowsItsBlocksAndBecomesOneItemAgain) {
    show_layers(6);
    const std::size_t folded = controller.ladder()->view.items.size();
    controller.toggle(shown_with(1).front());
    settle();
    EXPECT_TRUE(shown_with(1).empty());
    EXPECT_FALSE(controller.is_expanded(layer(*graph, 1))) << "its blocks are collapsed";
    EXPECT_EQ(controller.ladder()->view.items.size(), folded + 8) << "five for one, forward and backward";
    controller.toggle(layer(*graph, 3));
    settle();
    EXPECT_TRUE(controller.is_expanded(layer(*graph, 3)));
    ASSERT_TRUE(controller.can_fold(layer(*graph, 4)));
    controller.fold(layer(*graph, 4));
    settle();
    EXPECT_EQ(controller.ladder()->view.items.size(), folded);
    EXPECT_FALSE(controller.can_fold(layer(*graph, 4)));
}

TEST_F(FoldedLadders, ASelectedBlockOfARunIsShownByTheRun) {
    show_layers(6);
    const std::vector<int> items = controller.items_of(Selected::of(layer(*graph, 4)));
    ASSERT_EQ(items.size(), 1u);
    EXPECT_EQ(controller.ladder()->view.items[items.front()].run.size(), 5u);
}

TEST_F(FoldedLadders, RevealShowsABlockOfARunAndTheOpsInIt) {
    show_layers(6);
    controller.reveal(Selected::of(layer(*graph, 4)));
    settle();
    EXPECT_TRUE(shown_with(4).empty());
    EXPECT_EQ(item_of_layer(4).block, layer(*graph, 4));

    controller.set_depth(0);
    settle();
    const OpId op = graph->facts[layer(*graph, 5)].first;
    controller.reveal(Selected::of(op));
    settle();
    EXPECT_EQ(item_of_layer(5).op, op);
    EXPECT_EQ(shown_with(1).size(), 4u) << "the other layers stay one item";
}

TEST_F(FoldedLadders, EverythingInsideARunIsEverythingInsideAllOfItsBlocks) {
    show_layers(6);
    controller.expand_all(layer(*graph, 1));
    settle();
    for (OpId op : graph->graph.ops.ids()) {
        const std::string& module = graph->graph.ops[op].module;
        if (!module.starts_with("layers.") || module.starts_with("layers.0")) continue;
        EXPECT_EQ(controller.ladder()->view.items[controller.ladder()->item_of[op]].op, op);
    }
}

TEST_F(Ladders, TheFirstPictureIsTheDeepestThatFitsOneAndAHalfTimes) {
    graph = loaded_chain(30);
    controller.set_layout_function(stacked);
    int last = 0;
    for (double height : {100.0, 400.0, 1e6}) {
        controller.set_room({1000, height});
        controller.set_graph(graph);
        settle();
        const int depth = controller.depth();
        EXPECT_GE(depth, last);
        EXPECT_TRUE(depth == 1 || controller.ladder()->layout.size.height <= 1.5 * height);
        last = depth;
        if (depth == controller.full_depth()) continue;
        controller.set_depth(depth + 1);
        settle();
        EXPECT_GT(controller.ladder()->layout.size.height, 1.5 * height);
    }
    EXPECT_EQ(last, controller.full_depth());
}

TEST_F(Ladders, AnotherRoomCountsUntilTheFirstPictureIsThere) {
    graph = loaded_chain(30);
    controller.set_layout_function(stacked);
    controller.set_room({1000, 100});
    controller.set_graph(graph);
    controller.set_room({1000, 1e6});
    settle();
    EXPECT_EQ(controller.depth(), controller.full_depth());
    const LadderPtr first = controller.ladder();
    controller.set_room({1000, 100});
    settle();
    EXPECT_EQ(controller.ladder(), first);
}

TEST_F(Ladders, AFirstPictureThatWasCancelledLeavesNoneAndTheNextIsMade) {
    graph = loaded_chain(6);
    controller.set_layout_function([](const LayoutRequest& request, std::stop_token stop) {
        while (!stop.stop_requested()) QThread::msleep(1);
        return stacked(request, stop);
    });
    controller.set_graph(graph);
    controller.cancel();
    EXPECT_FALSE(controller.running());
    EXPECT_EQ(controller.ladder(), nullptr);
    controller.set_layout_function(stacked);
    controller.set_depth(1);
    settle();
    ASSERT_TRUE(controller.ladder());
    EXPECT_EQ(controller.ladder()->depth, 1);
}

TEST_F(Ladders, RevealExpandsWhatHidesAnOp) {
    show(6);
    controller.set_depth(0);
    settle();
    ASSERT_FALSE(controller.ladder()->view.items[controller.ladder()->item_of[OpId(3)]].op == OpId(3));
    controller.reveal(Selected::of(OpId(3)));
    settle();
    EXPECT_EQ(controller.ladder()->view.items[controller.ladder()->item_of[OpId(3)]].op, OpId(3));
}

TEST_F(Ladders, ANewScheduleRecoloursWithoutANewLayout) {
    show(4);
    QSignalSpy started(&controller, &LadderController::started),
        recoloured(&controller, &LadderController::recoloured);
    const Layout before = controller.ladder()->layout;
    controller.set_schedule(prepare_schedule(graph, keep_all_schedule(*graph)));
    EXPECT_EQ(started.count(), 0);
    EXPECT_EQ(recoloured.count(), 1);
    EXPECT_EQ(controller.ladder()->layout, before);
    EXPECT_GT(controller.ladder()->view.items.front().runs, 0);
}

TEST_F(Ladders, AFailedLayoutIsToldAndTheLastPictureStays) {
    show(4);
    const LadderPtr before = controller.ladder();
    controller.set_layout_function(
        [](const LayoutRequest&, std::stop_token) -> Result<Layout> { return Error{.message = "no room"}; });
    QSignalSpy failed(&controller, &LadderController::failed);
    controller.set_depth(0);
    ASSERT_TRUE(eventually([&] { return failed.count() == 1; }));
    EXPECT_EQ(failed.front().front().toString(), "no room");
    EXPECT_EQ(controller.ladder(), before);
}

TEST_F(Ladders, ALayoutCanBeCancelled) {
    show(4);
    controller.set_layout_function([](const LayoutRequest& request, std::stop_token stop) {
        while (!stop.stop_requested()) QThread::msleep(1);
        return stacked(request, stop);
    });
    const LadderPtr before = controller.ladder();
    controller.set_depth(0);
    EXPECT_TRUE(controller.running());
    controller.cancel();
    EXPECT_FALSE(controller.running());
    EXPECT_EQ(controller.ladder(), before);
}

TEST_F(Ladders, ASelectedBlockIsAllItemsWithin) {
    show(4);
    controller.set_depth(controller.full_depth());
    settle();
    const BlockId block = block_named(*graph, "1", Phase::forward);
    EXPECT_EQ(controller.items_of(Selected::of(block)).size(), ops_under(*graph, block).size());
    EXPECT_TRUE(controller.items_of({}).empty());
}

/// Returns a schedule that runs each forward op twice.
SchedulePtr all_twice(const GraphPtr& graph) {
    Schedule schedule = keep_all_schedule(*graph);
    std::vector<Step> again;
    for (const Step& step : schedule.steps) {
        if (step.runs() && graph->graph.ops[step.op()].phase == Phase::forward) again.push_back(step);
        again.push_back(step);
    }
    schedule.steps = again;
    return prepare_schedule(graph, schedule);
}

/// Returns for each item the number of runs that the picture shows.
std::vector<int> runs_shown(const LadderController& controller) {
    std::vector<int> runs;
    for (const BlockViewItem& item : controller.ladder()->view.items) runs.push_back(item.runs);
    return runs;
}

TEST_F(Ladders, AfterALayoutThatFailedSchedulesColourThePictureThatIsShown) {
    show(4);
    controller.set_layout_function(
        [](const LayoutRequest&, std::stop_token) -> Result<Layout> { return Error{.message = "no room"}; });
    const int depth = controller.depth();
    controller.set_depth(controller.full_depth());
    settle();
    EXPECT_EQ(controller.depth(), depth) << "one level more is one more than is shown";
    controller.set_schedule(prepare_schedule(graph, keep_all_schedule(*graph)));
    const std::vector<int> once = runs_shown(controller);
    controller.set_schedule(all_twice(graph));
    const std::vector<int> twice = runs_shown(controller);
    ASSERT_EQ(once.size(), twice.size());
    EXPECT_EQ(controller.ladder()->layout.items.size(), twice.size());
    EXPECT_GT(std::accumulate(twice.begin(), twice.end(), 0), std::accumulate(once.begin(), once.end(), 0));
}

TEST_F(Ladders, AfterALayoutThatWasCancelledBlocksAreWhatTheyAreShownAs) {
    show(6);
    controller.set_depth(2);
    settle();
    const BlockId block = block_named(*graph, "0", Phase::forward);
    const bool shown = controller.is_expanded(block);
    controller.set_layout_function([](const LayoutRequest& request, std::stop_token stop) {
        while (!stop.stop_requested()) QThread::msleep(1);
        return stacked(request, stop);
    });
    controller.toggle(block);
    controller.cancel();
    EXPECT_EQ(controller.is_expanded(block), shown);
    controller.set_layout_function(stacked);
    controller.toggle(block);
    settle();
    EXPECT_EQ(controller.is_expanded(block), !shown);
    EXPECT_EQ(controller.ladder()->cluster_of[block] >= 0, !shown);
}

TEST_F(Ladders, CancelledAtAnyMomentThePictureIsTheLastThatWasDone) {
    if (find_layout_worker().empty()) GTEST_SKIP() << "no rematlas-layout in this build";
    graph = loaded_chain(60);
    controller.set_graph(graph);
    settle();
    ASSERT_TRUE(controller.ladder());
    for (int moment = 0; moment < 24; ++moment) {
        const LadderPtr before = controller.ladder();
        const int other = controller.depth() == 1 ? controller.full_depth() : 1;
        controller.set_depth(other);
        for (int turns = 0; turns < moment; ++turns) process_events();
        const bool done = !controller.running();
        controller.cancel();
        process_events();
        const LadderPtr now = controller.ladder();
        if (!done) {
            EXPECT_EQ(now, before) << moment;
        }
        EXPECT_EQ(controller.depth(), now->depth);
        EXPECT_EQ(now->layout.items.size(), now->view.items.size());
        for (BlockId b : graph->graph.blocks.ids())
            EXPECT_EQ(controller.is_expanded(b), is_expanded(graph->graph.blocks, now->expanded, b));
    }
}

TEST_F(Ladders, NothingIsLaidOutAgainForNothing) {
    show(4);
    controller.set_depth(controller.full_depth());
    settle();
    QSignalSpy started(&controller, &LadderController::started);
    controller.set_depth(controller.full_depth());
    controller.set_depth(controller.full_depth() + 5);
    for (BlockId block : graph->graph.blocks.ids()) controller.expand_all(block);
    controller.reveal(Selected::of(OpId(0)));
    EXPECT_EQ(started.count(), 0);
    EXPECT_FALSE(controller.running());
}

TEST_F(Ladders, GoingBackToWhatIsShownEndsTheLayoutThatIsUnderWay) {
    show(4);
    controller.set_depth(2);
    settle();
    controller.set_layout_function([](const LayoutRequest& request, std::stop_token stop) {
        while (!stop.stop_requested()) QThread::msleep(1);
        return stacked(request, stop);
    });
    controller.set_depth(0);
    ASSERT_TRUE(controller.running());
    controller.set_depth(2);
    EXPECT_FALSE(controller.running());
}

}  // namespace
}  // namespace rematlas::explorer
