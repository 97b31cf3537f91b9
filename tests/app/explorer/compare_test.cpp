#include <QComboBox>
#include <QLabel>
#include <QTreeView>
#include <QtTest>

#include "app/explorer/docks/compare_picture.h"
#include "app/explorer/session/differences_table.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

class Comparing : public Windows {
  protected:
    /// The step without recomputation, and one plan of three quarters of its bytes, which is shown.
    void SetUp() override {
        Windows::SetUp();
        window->resize(1600, 1000);
        open(sample("gpt"));
        window->dock("compare")->raise();
        const LoadedGraph& graph = *session().graph();
        const Bytes budget((graph.least.bytes.value + graph.full_peak.value) / 2);
        session().solve(
            {.solver = "atlas", .budget = budget, .limits = {.time = std::chrono::milliseconds(300)}});
        ASSERT_TRUE(
            eventually([&] { return idle() && compared() && compared()->a == session().schedule(); }));
        ASSERT_GT(session().schedule()->reruns, 0);
    }
    Session& session() { return window->session(); }
    const ComparedPtr& compared() { return session().compare.compared(); }
    ComparePicture& picture() { return *child<ComparePicture>("compare_picture"); }
};

TEST_F(Comparing, APlanIsComparedWithTheStepWithoutRecomputationFirst) {
    EXPECT_EQ(compared()->b->schedule.steps, session().all_kept()->schedule.steps);
    EXPECT_EQ(compared()->found.fewer_runs, session().schedule()->reruns);
    EXPECT_EQ(compared()->found.time_a - compared()->found.time_b, session().schedule()->extra_time);
    const QString words = child<QLabel>("compare_headline")->text();
    EXPECT_TRUE(words.contains("less and needs")) << words.toStdString();
    EXPECT_TRUE(words.contains(QString::number(session().schedule()->reruns))) << words.toStdString();
}

TEST_F(Comparing, TheTableHasARowForEachOpAndSelectsIt) {
    auto* table = child<QTreeView>("differences");
    EXPECT_EQ(table->model()->rowCount(), static_cast<int>(compared()->found.ops.size()));
    const QModelIndex first = table->model()->index(0, DifferencesTable::name);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(first).center());
    EXPECT_EQ(session().selection.current(), Selected::of(compared()->found.ops.front().op));
    EXPECT_TRUE(
        table->model()->headerData(DifferencesTable::runs_b, Qt::Horizontal).toString().contains("all kept"));
}

TEST_F(Comparing, AClickInOnePlanPutsTheCursorOfTheOtherOnTheSameRun) {
    const ComparePlaces places = places_of(picture().scene());
    const Rect lane = places.b.lanes.front();  // the forward pass of the other plan
    QTest::mouseClick(
        &picture(), Qt::LeftButton, {},
        QPoint(static_cast<int>(lane.x + lane.width / 5), static_cast<int>(lane.y + lane.height / 2)));
    const CompareScene scene = picture().scene();
    ASSERT_GE(scene.a.cursor, 0);
    ASSERT_GE(scene.b.cursor, 0);
    EXPECT_EQ(scene.a.steps[static_cast<std::size_t>(scene.a.cursor)].op(),
              scene.b.steps[static_cast<std::size_t>(scene.b.cursor)].op());
    EXPECT_EQ(compared()->found.in_b[static_cast<std::size_t>(scene.a.cursor)], scene.b.cursor);
    EXPECT_EQ(session().selection.cursor(), scene.a.cursor);
}

TEST_F(Comparing, AnotherPlanIsChosenInTheListOrFromThePlans) {
    const int plan = session().plans.shown();
    session().plans.show(0);
    auto* other = child<QComboBox>("compare_with");
    other->setCurrentIndex(plan);
    emit other->activated(plan);
    ASSERT_TRUE(
        eventually([&] { return compared() && compared()->b->reruns > 0 && compared()->a->reruns == 0; }));
    EXPECT_EQ(compared()->found.more_runs, compared()->b->reruns);
    session().plans.remove(plan);
    EXPECT_EQ(session().compared_plan(), 0) << "what is gone cannot be compared with";
    ASSERT_TRUE(eventually([&] { return compared() && compared()->b->reruns == 0; }));
    EXPECT_TRUE(compared()->found.ops.empty());
}

TEST_F(Comparing, WithoutAPlanShownNothingIsCompared) {
    session().plans.show(PlanList::none);
    EXPECT_TRUE(eventually([&] { return compared() == nullptr; }));
    EXPECT_TRUE(child<QLabel>("compare_headline")->text().isEmpty());
    EXPECT_EQ(child<QTreeView>("differences")->model()->rowCount(), 0);
    EXPECT_FALSE(picture().grab().isNull());
}

}  // namespace
}  // namespace rematlas::explorer
