#include "app/explorer/docks/range_brush.h"

#include <QtTest>

#include "app/explorer/models/alive_model.h"
#include "app/explorer/models/block_sums.h"
#include "app/explorer/models/item_notes.h"
#include "app/explorer/models/steps_table.h"
#include "tests/app/explorer/table_column.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

class Brushes : public Windows {
  protected:
    void SetUp() override {
        Windows::SetUp();
        open(sample("gpt"));
        session().plans.show(0);
        ASSERT_TRUE(eventually([&] { return session().schedule() != nullptr && brush().isVisible(); }));
    }
    Session& session() { return window->session(); }
    RangeBrush& brush() { return *child<RangeBrush>("range_brush"); }
    QPoint at(double share) {
        const Rect plot = window->lanes().plot();
        return {static_cast<int>(plot.x + share * plot.width), brush().height() / 2};
    }
    void drag(double from, double to) {
        QTest::mousePress(&brush(), Qt::LeftButton, {}, at(from));
        QMouseEvent move(QEvent::MouseMove, at(to), Qt::LeftButton, Qt::LeftButton, {});
        QCoreApplication::sendEvent(&brush(), &move);
        QTest::mouseRelease(&brush(), Qt::LeftButton, {}, at(to));
    }
    double share(double at) { return at / window->lanes().data().length; }
};

TEST_F(Brushes, APartIsChosenMovedChangedAndLeftByDragging) {
    LanesView& lanes = window->lanes();
    drag(0.2, 0.5);
    EXPECT_NEAR(share(lanes.from()), 0.2, 0.01);
    EXPECT_NEAR(share(lanes.to()), 0.5, 0.01);
    drag(0.3, 0.6);  // drags inside the chosen part, which moves it
    EXPECT_NEAR(share(lanes.from()), 0.5, 0.01);
    EXPECT_NEAR(share(lanes.to()), 0.8, 0.01);
    drag(0.5, 0.4);  // drags the beginning of the part
    EXPECT_NEAR(share(lanes.from()), 0.4, 0.01);
    EXPECT_NEAR(share(lanes.to()), 0.8, 0.01);
    drag(0.8, 0.1);  // drags the end of the part to a place before its beginning
    EXPECT_NEAR(share(lanes.from()), 0.1, 0.01);
    EXPECT_NEAR(share(lanes.to()), 0.4, 0.01);
    QTest::mouseDClick(&brush(), Qt::LeftButton, {}, at(0.2));
    EXPECT_TRUE(session().selection.range().all());
}

TEST_F(Brushes, ThePartChosenIsTheRangeOfStepsForAllViews) {
    drag(0.25, 0.5);
    const StepRange range = session().selection.range();
    ASSERT_FALSE(range.all());
    const LaneData& data = window->lanes().data();
    EXPECT_LE(data.begin_of(range.first), window->lanes().from());
    EXPECT_LE(data.begin_of(range.last), window->lanes().to());
    EXPECT_GT(data.begin_of(range.last + 1), window->lanes().to());
    session().plans.show(PlanList::none);
    EXPECT_TRUE(eventually([&] { return session().selection.range().all(); }))
        << "without a plan there is no part";
}

TEST_F(Brushes, WhatIsInMemoryIsToldForThePart) {
    AliveModel model;
    model.set_schedule(session().schedule());
    const LoadedSchedule& schedule = *session().schedule();
    const int last = static_cast<int>(schedule.simulation.steps.size()) - 1;
    const StepRange part{last / 8, last / 4};
    model.set_range(part);
    EXPECT_TRUE(part.contains(heaviest_step(schedule, part)));
    Bytes most;
    for (int step = part.first; step <= part.last; ++step)
        most = std::max(most, schedule.simulation.steps[static_cast<std::size_t>(step)].during);
    EXPECT_EQ(model.total(), most);
    EXPECT_LT(most, schedule.simulation.peak);
    model.set_step(part.first + 2);
    EXPECT_LE(model.step(), part.first + 2) << "the cursor lies in the part";
    model.set_step(last);
    EXPECT_EQ(model.total(), most) << "the cursor lies elsewhere";
    const BlockSums sums = block_sums(schedule, part);
    EXPECT_EQ(sums.peak, most);
}

TEST_F(Brushes, TheTableOfStepsHasThoseOfThePart) {
    StepsTable table;
    table.set_schedule(session().schedule());
    const int all = table.rowCount();
    table.set_range({10, 19});
    ASSERT_EQ(table.rowCount(), 10);
    EXPECT_EQ(cell_of(table, 0, "Step").data().toInt(), 10);
    EXPECT_EQ(table.row_of_step(19), 9);
    EXPECT_EQ(table.row_of_step(20), -1);
    table.set_range({all - 3, all + 50});
    EXPECT_EQ(table.rowCount(), 3);
    table.set_range({});
    EXPECT_EQ(table.rowCount(), all);
}

TEST_F(Brushes, ItemsThatDoNotRunInThePartArePaleAndPinnedOnesMarked) {
    const LadderPtr ladder = session().ladder.ladder();
    ASSERT_TRUE(ladder);
    const LoadedSchedule& schedule = *session().schedule();
    for (const ItemNote& note : item_notes(*ladder, &schedule, {}, {})) EXPECT_FALSE(note.aside || note.pin);
    const StepRange part{0, 9};
    const std::vector<ItemNote> notes =
        item_notes(*ladder, &schedule, part, {{"blocks.*.attn", PinKind::keep}});
    std::size_t aside = 0, pinned = 0;
    for (std::size_t i = 0; i < notes.size(); ++i) {
        bool runs = false, attention = false;
        for (const OpId op : ladder->graph->graph.ops.ids()) {
            if (ladder->item_of[op] != static_cast<int>(i)) continue;
            for (const int step : schedule.steps_of[op]) runs |= part.contains(step);
            const Op& at = ladder->graph->graph.ops[op];
            attention |= at.phase == Phase::forward && at.module.find(".attn") != std::string::npos;
        }
        EXPECT_EQ(notes[i].aside, !runs) << i;
        EXPECT_EQ(notes[i].pin.has_value(), attention) << i;
        aside += notes[i].aside;
        pinned += notes[i].pin.has_value();
    }
    EXPECT_GT(aside, 0u);
    EXPECT_LT(aside, notes.size());
    EXPECT_GT(pinned, 0u);
    EXPECT_TRUE(item_notes(*ladder, &schedule, {}, {{"nothing.of.it", PinKind::keep}}).size() ==
                notes.size());
}

}  // namespace
}  // namespace rematlas::explorer
