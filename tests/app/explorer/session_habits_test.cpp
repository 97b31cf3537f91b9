// Tests the window when users change to another plan or to other settings: which settings the window takes
// over, keeps or forgets, and its messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAction>
#include <QDockWidget>
#include <QLabel>
#include <QListView>
#include <QListWidget>
#include <QTest>
#include <QThread>
#include <set>

#include "app/explorer/graph/graph_minimap.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

using testing::HasSubstr;

class Habits : public Windows {
  protected:
    void SetUp() override {
        Windows::SetUp();
        open(write_chain(folder, 4));
    }
    Session& session() { return window->session(); }
    void solve(const Pins& pins) {
        session().pins.replace(pins);
        session().solve({.solver = "dtr", .budget = session().graph()->full_peak});
        ASSERT_TRUE(eventually([&] { return idle(); }));
    }
    std::string answer() { return child<QLabel>("answer")->text().toStdString(); }
};

TEST_F(Habits, PinsThatCameWithAPlanSaySoAndGoWithIt) {
    const Pins pins = {{"layers.*", PinKind::recompute}};
    solve(pins);
    const int pinned = session().plans.shown();
    EXPECT_FALSE(child<QLabel>("pins_origin")->isVisibleTo(window.get())) << "they are one's own";
    child<QPushButton>("remove_pins")->click();
    session().plans.show(0);
    EXPECT_TRUE(session().pins.pins().empty());
    session().plans.show(pinned);
    EXPECT_EQ(session().pins.pins(), pins);
    EXPECT_TRUE(child<QLabel>("pins_origin")->isVisibleTo(window.get()));
    EXPECT_THAT(child<QLabel>("pins_origin")->text().toStdString(),
                HasSubstr(session().plans.plan(pinned).name.toStdString()));
    session().plans.show(0);
    EXPECT_TRUE(session().pins.pins().empty()) << "the step without recomputation has none";
    session().plans.show(pinned);
    child<QPushButton>("remove_pins")->click();
    EXPECT_TRUE(session().pins.pins().empty()) << "one click drops them";
}

TEST_F(Habits, PinsOfOnesOwnStayWhateverIsShown) {
    const Pins own = {{"conv0", PinKind::keep}};
    solve({{"layers.*", PinKind::recompute}});
    session().pins.replace(own);
    session().plans.show(0);
    session().plans.show(1);
    EXPECT_EQ(session().pins.pins(), own);
    EXPECT_FALSE(child<QLabel>("pins_origin")->isVisibleTo(window.get()));
}

TEST_F(Habits, APinThatAsksForNothingOrCannotBeObeyedIsTold) {
    session().pins.set({"layers.1", PinKind::recompute});
    EXPECT_FALSE(child<QLabel>("pin_remarks")->isVisibleTo(window.get()));
    session().pins.set({"layers.0.conv", PinKind::recompute});
    EXPECT_TRUE(child<QLabel>("pin_remarks")->isVisibleTo(window.get()));
    EXPECT_THAT(child<QLabel>("pin_remarks")->text().toStdString(), HasSubstr("asks for nothing"));
    EXPECT_FALSE(session().pins.index(0).data().toString().contains("does nothing"));
    EXPECT_TRUE(session().pins.index(1).data().toString().contains("does nothing"));
    session().pins.set({"weight0", PinKind::keep});
    EXPECT_THAT(child<QLabel>("pin_remarks")->text().toStdString(), HasSubstr("kind parameter"));
    session().pins.remove("weight0");
    session().pins.remove("layers.0.conv");
    EXPECT_FALSE(child<QLabel>("pin_remarks")->isVisibleTo(window.get()));
}

TEST_F(Habits, AFailureGoesWithTheQuestionThatItAnswered) {
    const std::string before = answer();
    const auto fail = [&](const char* budget) {
        session().budget.set_text(budget);
        window->solve_panel().solve();
        ASSERT_TRUE(eventually([&] { return idle(); }));
        EXPECT_THAT(answer(), HasSubstr("No schedule fits"));
    };
    fail("4096");
    session().budget.set_smallest(session().budget.smallest());
    EXPECT_THAT(answer(), HasSubstr("No schedule fits")) << "the question is the same";
    session().budget.set_text("90%");
    EXPECT_EQ(answer(), before);
    fail("4096");
    session().pins.set({"conv0", PinKind::keep});
    EXPECT_EQ(answer(), before);
}

TEST_F(Habits, AFailureComesToTheFrontOrIsALineAbove) {
    window->resize(1000, 700);
    window->dock("details")->raise();
    process_events();
    ASSERT_TRUE(window->dock("solve")->visibleRegion().isEmpty());
    const auto fail = [&] {
        session().budget.set_text("4096");
        session().solve_for(session().budget.budget());
        ASSERT_TRUE(eventually([&] { return idle(); }));
    };
    session().pins.replace({{"layers.*", PinKind::recompute}, {"layers.0.conv", PinKind::recompute}});
    fail();
    process_events();
    EXPECT_FALSE(window->dock("solve")->visibleRegion().isEmpty());
    EXPECT_TRUE(eventually([&] { return !child<QLabel>("answer")->visibleRegion().isEmpty(); }))
        << "whatever is above it";
    window->dock("solve")->close();
    fail();
    EXPECT_TRUE(window->last_error().contains("No schedule fits"));
}

TEST_F(Habits, TheStripSolvesByWhatIsSetUnderSolve) {
    child<QComboBox>("solver")->setCurrentText("chen-greedy");
    session().budget.set_text("80%");
    ASSERT_TRUE(child<QPushButton>("fit_action")->isVisible());
    QTest::mouseClick(child<QPushButton>("fit_action"), Qt::LeftButton);
    ASSERT_TRUE(eventually([&] { return idle(); }));
    EXPECT_EQ(session().schedule()->schedule.solver, "chen-greedy");
}

TEST_F(Habits, CommandsOfTheSameWordAreToldApart) {
    for (QAction* action : window->findChildren<QAction*>())
        if (action->shortcut() == QKeySequence("Ctrl+K")) action->trigger();
    auto* list = child<QListWidget>("command_list");
    ASSERT_TRUE(list);
    QTest::keyClicks(child<QLineEdit>("command_field"), "solve");
    ASSERT_GE(list->count(), 3);
    std::set<QString> names;
    for (int row = 0; row < 3; ++row) names.insert(list->item(row)->text());
    EXPECT_EQ(names.size(), 3u);
    EXPECT_EQ(list->item(0)->text(), "Solve");
}

TEST_F(Habits, OverTheStepWithoutRecomputationTheLineIsTheBudgetThatIsAsked) {
    session().plans.show(0);
    session().budget.set_text("60%");
    const QImage before = window->lanes().grab().toImage();
    session().budget.set_text("80%");
    EXPECT_NE(window->lanes().grab().toImage(), before);
    solve({});
    const QImage solved = window->lanes().grab().toImage();
    session().budget.set_text("60%");
    EXPECT_EQ(window->lanes().grab().toImage(), solved) << "a plan has its own";
}

TEST_F(Habits, AllOfTheGraphLeavesTheLegendItsRoomAndNeedsNoMinimap) {
    session().ladder.set_depth(session().ladder.full_depth());
    ASSERT_TRUE(eventually([&] { return idle(); }));
    GraphView& view = window->graph_view();
    view.fit_all();
    view.grab();
    view.fit_all();  // fits again, because the height of the legend is known only now
    const QRectF graph = view.scene()->items().first()->boundingRect();
    EXPECT_LT(view.mapFromScene(graph.bottomLeft()).y(), view.viewport()->height() - 30);
    EXPECT_FALSE(view.findChild<GraphMinimap*>()->isVisible());
    view.zoom(4);
    EXPECT_TRUE(view.findChild<GraphMinimap*>()->isVisible());
}

/// A solver that returns a plan only after it was stopped.
Result<Outcome> best_when_stopped(const LoadedGraph& graph, const SolveRequest& request, const Progress&) {
    while (!request.limits.stop.stop_requested()) QThread::msleep(1);
    return solve(Problem{graph.graph, graph.flat}, {.solver = "chen-greedy", .budget = request.budget});
}

TEST_F(Habits, WhatAStoppedSolverHasFoundIsAPlan) {
    session().solver.set_solve_function(best_when_stopped);
    session().budget.set_text("80%");
    session().solve_for(session().budget.budget());
    session().solve_for(session().budget.budget());
    ASSERT_TRUE(eventually([&] { return session().plans.rowCount() == 2; })) << "the one that was replaced";
    EXPECT_EQ(session().plans.plan(1).origin, PlanRow::Origin::best_so_far);
    EXPECT_THAT(session().plans.plan(1).name.toStdString(), HasSubstr("best so far"));
    EXPECT_EQ(session().plans.shown(), 0) << "nobody asked to see it";
    session().solver.cancel();
    for (int i = 0; i < 20; ++i) process_events();
    EXPECT_EQ(session().plans.rowCount(), 2) << "it has found the same";
}

TEST_F(Habits, WhatASolverHasFoundWhenAnotherGraphIsOpenedIsAPlanOfItsOwnGraph) {
    session().solver.set_solve_function(best_when_stopped);
    session().budget.set_text("80%");
    session().solve_for(session().budget.budget());
    open(write_chain(folder, 5, "other"));
    ASSERT_TRUE(eventually([&] { return idle(); }));
    EXPECT_EQ(session().plans.rowCount(), 1) << "the plan is of the other graph";
    session().journal.flush();
    open(folder.filePath("chain.graph.json"));
    ASSERT_EQ(session().plans.rowCount(), 2);
    EXPECT_EQ(session().plans.plan(1).origin, PlanRow::Origin::best_so_far);
    EXPECT_THAT(session().plans.plan(1).name.toStdString(), HasSubstr("best so far"));
}

TEST_F(Habits, AfterACancelledSolverTheLineSolvesAgain) {
    session().solver.set_solve_function(best_when_stopped);
    session().budget.set_text("80%");
    window->solve_panel().solve();
    session().budget.set_text("81%");
    EXPECT_FALSE(child<QPushButton>("fit_action")->isEnabled());
    window->solve_panel().solve();
    session().solver.cancel();
    EXPECT_TRUE(child<QPushButton>("fit_action")->isEnabled());
}

TEST_F(Habits, TheBudgetOfTheShownPlanComesBackWithIt) {
    session().budget.set_text("80%");
    session().solve({.solver = "chen-greedy", .budget = session().budget.budget()});
    ASSERT_TRUE(eventually([&] { return idle(); }));
    ASSERT_EQ(session().plans.shown(), 1);
    const Bytes budget = session().plans.plan(1).schedule->budget;
    window->close();
    window.reset();
    make_window();
    open(folder.filePath("chain.graph.json"));
    EXPECT_TRUE(session().budget.is_text_of(budget)) << session().budget.text().toStdString();
}

TEST_F(Habits, TheFirstBudgetOfAGraphIsKnownToWork) {
    open(sample("gpt"));
    EXPECT_GE(session().budget.budget(), session().budget.smallest());
}

TEST_F(Habits, NoLabelTakesTextForHtmlByItsLook) {
    for (const QLabel* label : window->findChildren<QLabel*>()) {
        if (!label->text().contains('%') && label->objectName().isEmpty()) continue;
        EXPECT_NE(label->textFormat(), Qt::AutoText)
            << label->objectName().toStdString() << ": " << label->text().toStdString();
    }
}

TEST_F(Habits, ClosingTakesTheBestThatARunningSolverHas) {
    session().solver.set_solve_function(
        [](const LoadedGraph& graph, const SolveRequest& request, const Progress&) {
            while (!request.limits.stop.stop_requested()) QThread::msleep(1);
            Outcome outcome;
            Schedule best = keep_all_schedule(graph);
            best.solver = "best so far";
            outcome.answer = best;
            return Result<Outcome>(outcome);
        });
    window->solve_panel().solve();
    window->close();
    window.reset();
    make_window();
    open(folder.filePath("chain.graph.json"));
    ASSERT_EQ(session().plans.rowCount(), 2);
    EXPECT_EQ(session().plans.plan(1).schedule->solver, "best so far");
}

}  // namespace
}  // namespace rematlas::explorer
