#include <QComboBox>
#include <QLabel>
#include <QTreeView>
#include <QtTest>

#include "app/explorer/docks/compare_picture.h"
#include "app/explorer/models/differences_table.h"
#include "core/graph/graph_file.h"
#include "core/schedule/schedule_file.h"
#include "tests/app/explorer/table_column.h"
#include "tests/app/explorer/window_fixture.h"
#include "tests/core/support/update_on_host.h"

namespace rematlas::explorer {
namespace {

/// The columns with the number of runs of each op in plan A and in plan B.
constexpr int runs_a = 2, runs_b = 3;

class Comparing : public Windows {
  protected:
    /// Makes two plans: the step without recomputation, and a plan whose budget is halfway between the least
    /// memory and the peak without recomputation. The second plan is shown.
    void SetUp() override {
        Windows::SetUp();
        window->resize(1600, 1000);
        open(sample("gpt"));
        window->dock("compare")->raise();
        const LoadedGraph& graph = *session().graph();
        const Bytes budget((graph.least.bytes.value + graph.full_peak.value) / 2);
        session().solve(
            {.solver = "atlas", .budget = budget, .limits = {.time = std::chrono::minutes(1), .gap = 1}});
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
    const QModelIndex first = table->model()->index(0, column_of(*table->model(), "Op"));
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(first).center());
    EXPECT_EQ(session().selection.current(), Selected::of(compared()->found.ops.front().op));
    EXPECT_TRUE(table->model()->headerData(runs_b, Qt::Horizontal).toString().contains("all kept"));
}

TEST_F(Comparing, AClickInOnePlanPutsTheCursorOfTheOtherOnTheSameRun) {
    const ComparePlaces places = places_of(picture().scene());
    const Rect lane = places.b.lanes.front();  // the lane of the forward pass of plan B
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

/// Saves schedules of a graph to files and opens them. The graph has an update that can run on the host.
class OpenedPlans : public Windows {
  protected:
    QString saved(Schedule schedule, const QString& name) {
        schedule.graph_sha256 = graph.sha256;
        schedule.solver = "hand", schedule.status = "feasible", schedule.budget = Bytes(1000);
        const QString file = folder.filePath(name + ".schedule.json");
        EXPECT_TRUE(write_schedule(schedule, file.toStdString()));
        return file;
    }
    void SetUp() override {
        Windows::SetUp();
        ASSERT_TRUE(write_graph(graph, folder.filePath("update.graph.json").toStdString()));
        open(folder.filePath("update.graph.json"));
    }

    Graph graph = graph_with_update();
};

TEST_F(OpenedPlans, AreComparedWithEachOther) {
    Session& session = window->session();
    open(saved(with_update_on_device(), "device"));
    EXPECT_EQ(session.plans.plan(session.compared_plan()).origin, PlanRow::Origin::all_kept);
    open(saved(with_update_on_host(), "host"));
    const ComparedPtr& compared = session.compare.compared();
    ASSERT_TRUE(
        eventually([&] { return compared && compared->b->schedule.steps == with_update_on_device().steps; }));
    EXPECT_EQ(compared->a->schedule.steps, with_update_on_host().steps);
    EXPECT_EQ(compared->found.came_back, 1);
    const QString words = child<QLabel>("compare_headline")->text();
    for (const char* said : {"1 updates on the device instead of on the host",
                             "copies 100 B to the host and 100 B back", "at most 100 B lie on the host"})
        EXPECT_TRUE(words.contains(said)) << words.toStdString();
    const QAbstractItemModel& table = *child<QTreeView>("differences")->model();
    EXPECT_EQ(table.index(0, runs_a).data().toString(), "on the host");
    EXPECT_EQ(table.index(0, runs_b).data().toString(), "1");
}

TEST_F(OpenedPlans, SetWhatIsCopiedNext) {
    const Copies& copies = window->session().solve_settings().copies;
    auto *what = child<QComboBox>("copies"), *link = child<QComboBox>("link");
    open(saved(with_update_on_device(), "device"));
    EXPECT_EQ(copies.what, Offload::weights);
    EXPECT_EQ(what->currentText(), "weights");
    EXPECT_EQ(link->currentText(), "as captured");
    Schedule host = with_update_on_host();
    host.links = Links{.to_host_bytes_per_second = 3e9, .to_device_bytes_per_second = 2e9};
    host.host_budget = Bytes(400);
    open(saved(host, "host"));
    EXPECT_EQ(what->currentText(), "all");
    EXPECT_EQ(link->currentText(), "as in the plan");
    EXPECT_EQ(copies.links, *host.links);
    EXPECT_EQ(copies.host_budget, Bytes(400));
    EXPECT_TRUE(child<QLabel>("link_remark")->text().contains("at most 400 B on the host"));
    what->setCurrentIndex(0);
    emit what->activated(0);
    EXPECT_EQ(copies.what, Offload::none);
    EXPECT_FALSE(copies.host_budget);
}

}  // namespace
}  // namespace rematlas::explorer
