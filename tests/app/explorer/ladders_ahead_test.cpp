#include "app/explorer/jobs/ladders_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "app/explorer/jobs/ladder_controller.h"
#include "tests/app/explorer/stacked_layout.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

/// A layout that never ends by itself: waits until it is stopped.
Result<Layout> until_stopped(std::stop_token stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait(lock, stop, [] { return false; });
    return Error{"stopped"};
}

class LookAhead : public testing::Test {
  protected:
    void show(int layers, LadderController::LayoutFunction ahead) {
        graph = loaded_chain(layers);
        controller.set_layout_function(
            [this](const LayoutRequest& request, std::stop_token stop) {
                ++asked;
                return stacked(request, stop);
            },
            std::move(ahead));
        controller.set_graph(graph);
        ASSERT_TRUE(eventually([&] { return !controller.running(); }));
        asked = 0;
    }
    void show_with_ladders_ahead(int layers) {
        show(layers, [this](const LayoutRequest& request, std::stop_token stop) {
            ++made_ahead;
            return stacked(request, stop);
        });
        ASSERT_TRUE(eventually([&] { return !controller.ahead().running(); }));
        ASSERT_GT(made_ahead, 0);
    }
    /// Of the collapsed blocks outside of the backward pass, returns the one with the most ops. If several
    /// blocks have equally many, returns the first of them.
    BlockId largest() const {
        const BlockViewItem* most = nullptr;
        for (const BlockViewItem& item : controller.ladder()->view.items) {
            const bool collapsed = item.block.valid() && !item.op.valid() && item.run.empty();
            if (!collapsed || item.phase == Phase::backward) continue;
            if (!most || item.op_count > most->op_count) most = &item;
        }
        EXPECT_TRUE(most);
        return most ? most->block : BlockId();
    }
    void expand(BlockId block) {
        controller.expand_block(block);
        ASSERT_TRUE(eventually([&] { return !controller.running(); }));
    }

    GraphPtr graph;
    std::atomic<int> asked = 0, made_ahead = 0;
    std::atomic<bool> begun = false, stopped = false;
    LadderController controller;
};

TEST_F(LookAhead, WhatIsReadyIsShownWithoutAnotherLayout) {
    show_with_ladders_ahead(6);
    const BlockId block = largest();
    expand(block);
    EXPECT_TRUE(controller.is_expanded(block));
    EXPECT_GE(controller.ladder()->cluster_of[block], 0);
    EXPECT_EQ(asked, 0);
}

TEST_F(LookAhead, ThePictureIsTheOneThatTheClickWouldHaveMade) {
    show_with_ladders_ahead(6);
    expand(largest());
    LadderController plain;
    plain.set_layout_function(stacked);
    plain.set_graph(graph);
    ASSERT_TRUE(eventually([&] { return !plain.running(); }));
    for (BlockId block : controller.ladder()->expanded.blocks) plain.expand_block(block);
    ASSERT_TRUE(eventually([&] { return !plain.running(); }));
    EXPECT_EQ(controller.ladder()->expanded, plain.ladder()->expanded);
    EXPECT_EQ(controller.ladder()->layout, plain.ladder()->layout);
    EXPECT_EQ(controller.ladder()->item_of, plain.ladder()->item_of);
}

TEST_F(LookAhead, AScheduleThatCameLaterIsShownByWhatWasReady) {
    show_with_ladders_ahead(6);
    const SchedulePtr schedule = prepare_schedule(graph, keep_all_schedule(*graph));
    controller.set_schedule(schedule);
    expand(largest());
    EXPECT_EQ(asked, 0);
    EXPECT_EQ(controller.ladder()->schedule, schedule);
    for (const BlockViewItem& item : controller.ladder()->view.items) EXPECT_EQ(item.runs, item.op_count);
}

TEST_F(LookAhead, AClickStopsWhatIsBeingMadeAndIsNotHeldUpByIt) {
    show(6, [this](const LayoutRequest&, std::stop_token stop) {
        begun = true;
        Result<Layout> none = until_stopped(std::move(stop));
        stopped = true;
        return none;
    });
    ASSERT_TRUE(eventually([&] { return begun.load(); }));
    const BlockId block = largest();
    controller.expand_block(block);
    EXPECT_TRUE(eventually([&] { return !controller.running() && stopped; }));
    EXPECT_GE(controller.ladder()->cluster_of[block], 0);
    EXPECT_EQ(asked, 1);
}

TEST_F(LookAhead, ClosingTheGraphStopsWhatIsBeingMadeAndForgetsWhatIsReady) {
    show(6, [this](const LayoutRequest&, std::stop_token stop) {
        begun = true;
        Result<Layout> none = until_stopped(std::move(stop));
        stopped = true;
        return none;
    });
    ASSERT_TRUE(eventually([&] { return begun.load(); }));
    controller.set_graph(nullptr);
    EXPECT_FALSE(controller.ahead().running());
    EXPECT_TRUE(eventually([&] { return stopped.load(); }));
}

TEST_F(LookAhead, TheBlockThatIsExpectedIsMadeAheadToo) {
    show_with_ladders_ahead(9);
    BlockId run, last;
    for (const BlockViewItem& item : controller.ladder()->view.items)
        if (!item.run.empty() && item.phase != Phase::backward)
            run = item.run.front(), last = item.run.back();
    ASSERT_TRUE(run.valid());
    expand(run);  // shows the blocks one by one; there are more of them than ladders are made in advance
    ASSERT_TRUE(eventually([&] { return !controller.ahead().running(); }));
    const int before = made_ahead;
    controller.expect(last);
    ASSERT_TRUE(eventually([&] { return made_ahead > before && !controller.ahead().running(); }));
    asked = 0;
    expand(last);
    EXPECT_GE(controller.ladder()->cluster_of[last], 0);
    EXPECT_EQ(asked, 0);
}

TEST_F(LookAhead, NothingIsMadeAheadOfWhatIsNotShown) {
    show_with_ladders_ahead(6);
    made_ahead = 0;
    controller.expect(BlockId());
    controller.expect(BlockId(0));  // the root block, which is expanded already
    ASSERT_TRUE(eventually([&] { return !controller.ahead().running(); }));
    EXPECT_EQ(made_ahead, 0);
}

/// Returns `count` different sets of expanded blocks.
std::vector<ExpandedBlocks> wishes(int count) {
    std::vector<ExpandedBlocks> wanted(count);
    for (int i = 0; i < count; ++i) wanted[i].insert(BlockId(i));
    return wanted;
}

TEST(LaddersAheadTest, NoMoreIsKeptThanThereIsRoomFor) {
    LaddersAhead ahead;
    const std::vector<ExpandedBlocks> wanted = wishes(4);
    ahead.want(wanted, [](const ExpandedBlocks& expanded, std::stop_token) -> Result<Ladder> {
        Ladder ladder;
        ladder.expanded = expanded;
        ladder.view.items.resize(25'000);
        return ladder;
    });
    ASSERT_TRUE(eventually([&] { return !ahead.running(); }));
    EXPECT_TRUE(ahead.find(wanted[0]));
    EXPECT_TRUE(ahead.find(wanted[1]));
    EXPECT_FALSE(ahead.find(wanted[2]));
}

TEST(LaddersAheadTest, TheMostLikelyIsMadeFirst) {
    LaddersAhead ahead;
    std::vector<ExpandedBlocks> made;
    const std::vector<ExpandedBlocks> wanted = wishes(3);
    ahead.want(wanted, [&](const ExpandedBlocks& expanded, std::stop_token) -> Result<Ladder> {
        made.push_back(expanded);  // needs no lock, because ladders are made one at a time
        Ladder ladder;
        ladder.expanded = expanded;
        return ladder;
    });
    ASSERT_TRUE(eventually([&] { return !ahead.running(); }));
    EXPECT_EQ(made, wanted);
}

TEST(LaddersAheadTest, WhatCannotBeMadeIsTriedOnceAndTheOthersAreMade) {
    LaddersAhead ahead;
    std::atomic<int> tried = 0;
    const auto make = [&](const ExpandedBlocks& expanded, std::stop_token) -> Result<Ladder> {
        if (expanded.contains(BlockId(0))) return ++tried, Error{"no"};
        Ladder ladder;
        ladder.expanded = expanded;
        return ladder;
    };
    const std::vector<ExpandedBlocks> wanted = wishes(3);
    for (int i = 0; i < 2; ++i) {
        ahead.want(wanted, make);
        ASSERT_TRUE(eventually([&] { return !ahead.running(); }));
    }
    EXPECT_EQ(tried, 1);
    EXPECT_FALSE(ahead.find(wanted[0]));
    EXPECT_TRUE(ahead.find(wanted[2]));
}

TEST(LaddersAheadTest, WhatIsWantedNoMoreIsForgotten) {
    LaddersAhead ahead;
    const auto make = [](const ExpandedBlocks& expanded, std::stop_token) -> Result<Ladder> {
        Ladder ladder;
        ladder.expanded = expanded;
        return ladder;
    };
    const std::vector<ExpandedBlocks> wanted = wishes(3);
    ahead.want(wanted, make);
    ASSERT_TRUE(eventually([&] { return !ahead.running(); }));
    ahead.want({wanted[1]}, make);
    EXPECT_FALSE(ahead.find(wanted[0]));
    EXPECT_TRUE(ahead.find(wanted[1]));
    ahead.clear();
    EXPECT_FALSE(ahead.find(wanted[1]));
}

}  // namespace
}  // namespace rematlas::explorer
