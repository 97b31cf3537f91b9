// Tests that all places of the window give the same answer for the same budget, copies and pins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAction>
#include <QLabel>
#include <QListWidget>
#include <QTest>
#include <QToolButton>
#include <random>

#include "app/explorer/docks/all_docks.h"
#include "app/explorer/models/sweep_table.h"
#include "app/explorer/words/wording.h"
#include "core/costs/link_profile.h"
#include "tests/app/explorer/one_figure.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

using testing::HasSubstr;
using testing::Not;

class OneTruth : public Windows {
  protected:
    Session& session() { return window->session(); }
    std::string label(const char* name) { return child<QLabel>(name)->text().toStdString(); }
    void set(const SolveSettings& settings) { session().set_solve_settings(settings); }
    void solve(const char* budget) {
        session().budget.set_text(budget);
        session().solve_for(session().budget.budget());
        ASSERT_TRUE(eventually([&] { return idle(); }));
    }
    void sweep(const std::vector<std::string>& solvers, int budgets) {
        session().sweep.start(session().graph(), solvers, budgets, std::chrono::seconds(2));
        ASSERT_TRUE(eventually([&] { return idle(); }));
    }
    void expect_one_figure() { rematlas::explorer::expect_one_figure(*window); }
};

TEST_F(OneTruth, OnlyAPlanThatTheQuestionAllowsAnswersIt) {
    open(write_chain(folder, 12, "chain", Bytes(16 << 20), Nanoseconds(1'600'000)));
    const Copies copies{.what = Offload::activations, .links = *links_named("h100")};
    set({.time = std::chrono::seconds(2), .copies = copies});
    solve("50%");
    ASSERT_TRUE(session().schedule() && session().schedule()->schedule.host_peak) << "copies are cheap here";
    EXPECT_THAT(label("fit_headline"), HasSubstr("with plan A"));
    set({.time = std::chrono::seconds(2)});
    EXPECT_THAT(label("fit_headline"), Not(HasSubstr("with plan")));
    set({.time = std::chrono::seconds(2),
         .copies = {.what = Offload::activations, .links = *links_named("pcie4")}});
    EXPECT_THAT(label("fit_headline"), Not(HasSubstr("with plan"))) << "over another link it is another plan";
    set({.time = std::chrono::seconds(2), .copies = copies});
    EXPECT_THAT(label("fit_headline"), HasSubstr("with plan A"));
}

TEST_F(OneTruth, NothingIsRecommendedThatWasJustDone) {
    open(write_chain(folder, 6));
    set({.solver = "chen-sqrt", .time = std::chrono::seconds(2)});
    const Bytes least = session().graph()->least.bytes;
    solve(QByteArray::number(static_cast<qlonglong>(least.value)).constData());
    ASSERT_FALSE(session().plans.rowCount() > 1) << "this solver finds nothing so small";
    EXPECT_FALSE(child<QPushButton>("fit_action")->isVisible()) << label("fit_detail");
    EXPECT_THAT(label("fit_detail"), HasSubstr("choose another solver"));
    set({.solver = "atlas", .time = std::chrono::seconds(2)});
    EXPECT_TRUE(child<QPushButton>("fit_action")->isVisible()) << "another solver was not asked";
}

TEST_F(OneTruth, ABoundOfALargerBudgetCountsForASmallerOneInAllViews) {
    open(write_chain(folder, 8));
    sweep({"atlas", "rotor"}, 6);
    solve("60%");
    expect_one_figure();
    const PlanList& plans = session().plans;
    ASSERT_GE(plans.rowCount(), 3);
    for (int a = 0; a < plans.rowCount(); ++a)
        for (int b = 0; b < plans.rowCount(); ++b) {
            const Schedule &small = *plans.plan(a).schedule, &large = *plans.plan(b).schedule;
            if (small.budget > large.budget || !session().answers().bound_of(small) ||
                !session().answers().bound_of(large))
                continue;
            EXPECT_GE(*session().answers().bound_of(small), *session().answers().bound_of(large));
        }
}

TEST_F(OneTruth, ABoundThatIsLearntLaterIsToldOfThePlanThatIsShown) {
    open(write_chain(folder, 8));
    session().solver.set_solve_function(
        [](const LoadedGraph& graph, const SolveRequest& request, const Progress&) {
            Result<Outcome> found = rematlas::solve(Problem{graph.graph, graph.flat},
                                                    {.solver = "chen-greedy", .budget = request.budget});
            std::get<Schedule>(found->answer).bound.reset();
            return found;
        });
    solve("60%");
    const std::string before = label("answer");
    sweep({"atlas"}, 6);
    EXPECT_NE(label("answer"), before);
    expect_one_figure();
}

TEST_F(OneTruth, ARandomWalkNeverFindsTwoFiguresForOneQuestion) {
    open(write_chain(folder, 8));
    std::mt19937 random(11);
    const auto any = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
    const Links pcie = *links_named("pcie4");
    for (int event = 0; event < 60; ++event) {
        switch (any(7)) {
            case 0:
                session().budget.set_text(QStringLiteral("%1%").arg(30 + any(75)));
                break;
            case 1:
                session().solve_for(session().budget.budget());
                break;
            case 2:
                session().choose_plan(any(session().plans.rowCount()));
                break;
            case 3:
                if (session().plans.rowCount() > 1)
                    session().plans.remove(1 + any(session().plans.rowCount() - 1));
                break;
            case 4:
                session().plans.undo_remove();
                break;
            case 5:
                set({.solver = any(2) ? "atlas" : "rotor",
                     .time = std::chrono::milliseconds(100),
                     .copies = any(2) ? Copies{} : Copies{.what = Offload::activations, .links = pcie}});
                break;
            case 6:
                session().pins.replace(any(2) ? Pins{} : Pins{{"layers.1", PinKind::recompute}});
                break;
        }
        ASSERT_TRUE(eventually([&] { return idle(); }));
        expect_one_figure();
    }
}

TEST_F(OneTruth, TheAnswerNamesItsConditions) {
    open(sample("gpt"));
    EXPECT_THAT(label("fit_conditions"), HasSubstr("without an optimizer"));
    set({.time = std::chrono::seconds(1), .copies = {.what = Offload::all, .links = *links_named("pcie4")}});
    EXPECT_THAT(label("fit_conditions"), HasSubstr("copies over PCI Express 4"));
}

TEST_F(OneTruth, AChosenPlanAsksWhatItWasAsked) {
    open(write_chain(folder, 8));
    set({.time = std::chrono::seconds(1)});
    solve("70%");
    const Bytes first = session().schedule()->schedule.budget;
    solve("85%");
    ASSERT_NE(session().budget.budget(), first);
    session().choose_plan(1);
    EXPECT_TRUE(session().budget.is_text_of(first)) << session().budget.text().toStdString();
    EXPECT_THAT(label("fit_headline"), HasSubstr("with plan A"));
}

TEST_F(OneTruth, PlansOfSweepsAreFoldedUntilTheyAreAskedFor) {
    open(write_chain(folder, 8));
    set({.time = std::chrono::seconds(1)});
    solve("70%");
    sweep({"atlas", "rotor"}, 8);
    ASSERT_GT(session().plans.rowCount(), 6);
    const QAbstractItemModel& shown = *child<QTreeView>("plans")->model();
    EXPECT_EQ(shown.rowCount(), 2) << "the step itself and plan A";
    auto* button = child<QToolButton>("swept_plans");
    EXPECT_TRUE(button->isVisibleTo(window.get()));
    EXPECT_THAT(button->text().toStdString(), HasSubstr(std::to_string(session().plans.rowCount() - 2)));
    button->click();
    EXPECT_EQ(shown.rowCount(), session().plans.rowCount());
    session().plans.set_starred(3, true);
    button->click();
    EXPECT_EQ(shown.rowCount(), 3);
    solve("75%");
    EXPECT_EQ(session().plans.plan(session().plans.shown()).name, "B") << "sweeps use up no letters";
}

TEST_F(OneTruth, AMessageGoesWithItsCause) {
    auto* words = child<QLabel>("message");
    open(folder.filePath("nothing.graph.json"));
    EXPECT_TRUE(words->isVisibleTo(window.get()));
    open(write_chain(folder, 3));
    EXPECT_FALSE(words->isVisibleTo(window.get())) << words->text().toStdString();
    window->open({folder.filePath("nothing.graph.json"), write_chain(folder, 4, "other")});
    ASSERT_TRUE(eventually([&] { return idle(); }));
    EXPECT_TRUE(words->isVisibleTo(window.get())) << "one of two could not be opened";
}

TEST_F(OneTruth, CommandsNameTheTables) {
    open(write_chain(folder, 3));
    for (QAction* action : window->findChildren<QAction*>())
        if (action->shortcut() == QKeySequence("Ctrl+K")) action->trigger();
    QTest::keyClicks(child<QLineEdit>("command_field"), "table plans");
    auto* list = child<QListWidget>("command_list");
    ASSERT_GT(list->count(), 0);
    EXPECT_EQ(list->item(0)->text(), "Export the table: Plans");
}

TEST_F(Windows, WhoHasNoGraphLooksAtTheSample) {
    child<QPushButton>("open_sample")->click();
    ASSERT_TRUE(eventually([&] { return idle() && window->session().graph(); }));
    EXPECT_TRUE(QFile::exists(folder.filePath("samples/gpt.graph.json")));
}

}  // namespace
}  // namespace rematlas::explorer
