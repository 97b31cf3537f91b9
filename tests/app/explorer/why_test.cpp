// Tests how the window explains why a tensor is kept or recomputed, and the price of the other decision. Also
// tests the window's pins.
#include "app/explorer/models/why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QLabel>
#include <QListView>
#include <QMenu>
#include <QPushButton>
#include <QTest>
#include <random>

#include "app/explorer/docks/why_panel.h"
#include "app/explorer/look/pin_menu.h"
#include "app/explorer/models/pin_list.h"
#include "core/checking/check_pins.h"
#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "tests/app/explorer/window_fixture.h"
#include "tests/core/support/random_graph.h"

namespace rematlas::explorer {
namespace {

/// Returns a random schedule of a random step. The schedule recomputes some tensors.
SchedulePtr random_schedule(std::uint64_t seed) {
    Graph made = random_training_graph(seed, {.forward_ops = 10, .run_once = seed % 2 == 0});
    const GraphPtr graph = prepare_graph(std::move(made), "", "random.graph.json");
    const std::int64_t least = graph->least.bytes.value, most = graph->full_peak.value;
    const Result<Outcome> outcome =
        solve(Problem{graph->graph, graph->flat},
              {.solver = "dtr",
               .budget = Bytes(least + (most - least) * static_cast<std::int64_t>(4 + seed % 6) / 10)});
    if (!outcome || !outcome->schedule()) return nullptr;
    return prepare_schedule(graph, *outcome->schedule());
}

TEST(WhatIf, EachNumberIsThatOfTheChangedScheduleOnTheChecker) {
    int compared = 0, dearer = 0, over = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const SchedulePtr schedule = random_schedule(seed);
        if (!schedule) continue;
        const Graph& graph = schedule->graph->graph;
        for (const OpId op : graph.ops.ids()) {
            for (const PinKind kind : {PinKind::keep, PinKind::recompute}) {
                const Pin pin{"#" + std::to_string(op.value), kind};
                const Result<WhatIf> other = what_if(*schedule, pin);
                if (!other) continue;
                Schedule changed;
                changed.steps = other->steps;
                const CheckReport report = check(graph, changed);
                ASSERT_TRUE(report.ok())
                    << seed << " " << to_string(pin) << ": " << report.violations.front();
                EXPECT_EQ(report.time, other->time) << to_string(pin);
                EXPECT_EQ(report.peak, other->peak) << to_string(pin);
                EXPECT_EQ(other->more_time, report.time - schedule->report.time);
                EXPECT_EQ(other->more_peak, report.peak - schedule->report.peak);
                EXPECT_EQ(other->over_budget, std::max(Bytes(0), report.peak - schedule->schedule.budget));
                EXPECT_THAT(broken_pins(graph, other->steps, {pin}), testing::IsEmpty());
                const bool obeyed = broken_pins(graph, schedule->schedule.steps, {pin}).empty();
                EXPECT_TRUE(obeyed || other->changes);
                if (obeyed && kind == PinKind::recompute) {
                    EXPECT_FALSE(other->changes) << to_string(pin);
                }
                ++compared;
                dearer += other->more_time.value > 0;
                over += other->over_budget.value > 0;
            }
        }
    }
    EXPECT_GT(compared, 300);
    EXPECT_GT(dearer, 30);
    EXPECT_GT(over, 30);
}

TEST(WhatIf, KeepingAndRecomputingOfAChainAreWhatOneReckonsByHand) {
    const GraphPtr graph =
        loaded_chain(2);  // ops: conv0 relu0 conv1 relu1 loss, then backward; 1 MiB and 1 us each
    const SchedulePtr kept = prepare_schedule(graph, keep_all_schedule(*graph));
    const Result<WhatIf> again = what_if(*kept, {"conv0", PinKind::recompute});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(again->changes);
    EXPECT_EQ(again->more_time, Nanoseconds(1000));
    EXPECT_EQ(again->more_peak, Bytes(-(1 << 20)));
    const SchedulePtr recomputed =
        prepare_schedule(graph, {.graph = graph->graph.name, .steps = again->steps});
    const Result<WhatIf> back = what_if(*recomputed, {"conv0", PinKind::keep});
    ASSERT_TRUE(back);
    EXPECT_EQ(back->more_time, Nanoseconds(-1000));
    EXPECT_EQ(back->peak, kept->report.peak);
    const Result<WhatIf> same = what_if(*kept, {"conv0", PinKind::keep});
    ASSERT_TRUE(same);
    EXPECT_FALSE(same->changes);
    EXPECT_FALSE(what_if(*kept, {"nothing", PinKind::keep}));
}

TEST(Idle, IsTheLongestTimeBetweenTwoUsesAndWhatLiesUnusedAtThePeak) {
    const GraphPtr graph = loaded_chain(2);
    const SchedulePtr kept = prepare_schedule(graph, keep_all_schedule(*graph));
    // conv0 is read by relu0 and then by the second last op. Between these two ops run conv1, relu1, the loss
    // and two backward ops.
    const Idle first = idle_of(*kept, std::vector<OpId>{OpId(0)});
    EXPECT_EQ(first.longest, Nanoseconds(5000));
    EXPECT_EQ(first.at_peak, Bytes(1 << 20));
    // The tensor that the loss makes is read by the next op.
    EXPECT_EQ(idle_of(*kept, std::vector<OpId>{OpId(4)}).longest, Nanoseconds(0));
}

TEST(PinList, HoldsOneDecisionAPattern) {
    PinList pins;
    int changes = 0;
    QObject::connect(&pins, &PinList::changed, [&] { ++changes; });
    pins.set({"a", PinKind::keep});
    pins.set({"b", PinKind::recompute});
    pins.set({"a", PinKind::recompute});
    EXPECT_EQ(pins.pins(), (Pins{{"a", PinKind::recompute}, {"b", PinKind::recompute}}));
    EXPECT_EQ(pins.data(pins.index(0)).toString(), "recompute a");
    EXPECT_EQ(pins.decision("b"), PinKind::recompute);
    EXPECT_FALSE(pins.decision("c"));
    pins.remove("c");
    EXPECT_EQ(changes, 3);
    pins.remove_row(0);
    EXPECT_EQ(pins.rowCount(), 1);
    EXPECT_EQ(changes, 4);
}

TEST(PinPattern, NamesOpsBlocksAndAllLayersLikeThem) {
    const GraphPtr graph = loaded_chain(3);
    EXPECT_EQ(pattern_of(*graph, Selected::of(OpId(2))), "conv1");
    EXPECT_EQ(pattern_of(*graph, {}), "");
    int blocks = 0;
    for (const BlockId id : graph->graph.blocks.ids()) {
        const std::string pattern = pattern_of(*graph, Selected::of(id));
        if (pattern != "layers.1") continue;
        EXPECT_EQ(pattern_of_all_like(*graph, Selected::of(id)), "layers.*");
        ++blocks;
    }
    EXPECT_EQ(blocks, 2) << "the forward block and its backward twin";
}

class PinWindows : public Windows {
  protected:
    void SetUp() override {
        Windows::SetUp();
        open(write_chain(folder, 4));
    }
    QAction* action(const QString& shortcut) {
        for (QAction* action : window->findChildren<QAction*>())
            if (action->shortcut() == QKeySequence(shortcut)) return action;
        return nullptr;
    }
    Session& session() { return window->session(); }
};

TEST_F(PinWindows, WhatIsSelectedIsPinnedByKeysButtonsAndMenuAndSolvedUnder) {
    session().selection.select(Selected::of(OpId(0)));
    action("Ctrl+Shift+R")->trigger();
    EXPECT_EQ(session().pins.pins(), (Pins{{"conv0", PinKind::recompute}}));
    EXPECT_TRUE(child<QListView>("pins")->isVisibleTo(window.get()));
    session().selection.select(Selected::of(OpId(2)));
    child<QPushButton>("pin_keep")->click();
    EXPECT_EQ(session().pins.rowCount(), 2);
    action("Ctrl+Shift+U")->trigger();
    EXPECT_EQ(session().pins.rowCount(), 1);
    QMenu menu;
    add_pin_actions(menu, session());
    menu.actions().at(1)->trigger();  // the action after the separator; the separator has index 0
    EXPECT_EQ(session().pins.decision("conv1"), PinKind::keep);

    session().budget.set_budget(session().graph()->full_peak);
    QTest::mouseClick(child<QPushButton>("solve"), Qt::LeftButton);
    ASSERT_TRUE(eventually(
        [&] { return !session().solver.running() && session().schedule() != session().all_kept(); }));
    ASSERT_TRUE(session().schedule());
    EXPECT_EQ(session().schedule()->schedule.pins, session().pins.pins());
    EXPECT_TRUE(session().schedule()->ok());
    EXPECT_EQ(session().schedule()->decisions.runs[OpId(0)], 2);
}

TEST_F(PinWindows, ThePanelTellsWhatTheOtherDecisionCosts) {
    auto* dock = window->findChild<QDockWidget*>("why");
    ASSERT_TRUE(dock);
    dock->show();
    dock->raise();
    process_events();
    session().selection.select(Selected::of(OpId(0)));
    const QString html =
        why_html(*session().graph(), session().schedule().get(), session().selection.current(), std::nullopt);
    EXPECT_THAT(html.toStdString(), testing::HasSubstr("it is so now"));
    const Result<WhatIf> again = what_if(*session().schedule(), {"conv0", PinKind::recompute});
    ASSERT_TRUE(again);
    EXPECT_THAT(html.toStdString(), testing::HasSubstr("1.00 MiB"));
    EXPECT_EQ(child<QLabel>("why")->text(), html);
    EXPECT_FALSE(child<QPushButton>("pin_none")->isEnabled());
    session().selection.select(Selected::of(OpId(8)));  // the loss op
    EXPECT_FALSE(child<QPushButton>("pin_recompute")->isEnabled());
}

TEST_F(PinWindows, PinsAreKeptWithTheirPlanAndComeBackWithIt) {
    session().pins.replace({{"layers.*", PinKind::recompute}});
    session().solve({.solver = "dtr", .budget = session().graph()->full_peak});
    ASSERT_TRUE(eventually([&] { return session().plans.rowCount() == 2 && idle(); }));
    session().journal.flush();
    const QString path = folder.filePath("chain.graph.json");
    session().close();
    EXPECT_TRUE(session().pins.pins().empty());
    open(path);
    ASSERT_EQ(session().plans.rowCount(), 2);
    EXPECT_EQ(session().plans.plan(1).schedule->pins, (Pins{{"layers.*", PinKind::recompute}}));
    EXPECT_EQ(session().pins.pins(), (Pins{{"layers.*", PinKind::recompute}}));
}

TEST_F(PinWindows, ABudgetThatOnlyThePinsBreakIsToldSo) {
    const std::int64_t least = session().budget.smallest().value, most = session().graph()->full_peak.value;
    session().pins.replace({{"layers.*", PinKind::keep}});
    QString headline;
    QObject::connect(&session().solver, &SolveController::infeasible, &session(),
                     [&](const NoScheduleReport& report, qint64) { headline = report.headline; });
    ASSERT_LT(least, most);
    session().solve({.budget = Bytes((least + most) / 2), .limits = {.time = std::chrono::seconds(1)}});
    ASSERT_TRUE(eventually([&] { return !headline.isEmpty(); }));
    EXPECT_THAT(headline.toStdString(), testing::HasSubstr("without them"));
}

TEST_F(PinWindows, PinsOfASweepAreThoseOfItsPlans) {
    session().pins.replace({{"conv0", PinKind::recompute}});
    session().sweep.start(session().graph(), {"dtr"}, 3, std::chrono::seconds(1), session().pins.pins());
    ASSERT_TRUE(eventually([&] { return idle(); }));
    ASSERT_GT(session().plans.rowCount(), 1);
    for (int row = 1; row < session().plans.rowCount(); ++row)
        EXPECT_EQ(session().plans.plan(row).schedule->pins, session().pins.pins());
}

}  // namespace
}  // namespace rematlas::explorer
