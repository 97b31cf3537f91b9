// Tests the flame chart in the window with mouse and keys.
#include "app/explorer/docks/flame_view.h"

#include <QScrollBar>
#include <QtTest>

#include "app/explorer/look/picture_or_table.h"
#include "app/explorer/models/flame_table.h"
#include "app/explorer/words/wording.h"
#include "core/graph/graph_file.h"
#include "core/schedule/schedule_file.h"
#include "tests/app/explorer/table_column.h"
#include "tests/app/explorer/window_fixture.h"
#include "tests/core/support/update_on_host.h"
#include "tests/viz/layered_graph.h"

namespace rematlas::explorer {
namespace {

class Flames : public Windows {
  protected:
    void SetUp() override {
        Windows::SetUp();
        open_layers(6);
    }
    void open_layers(int layers) {
        Graph graph = LayeredGraph::make(layers);
        const QString path = folder.filePath("layered.graph.json");
        ASSERT_TRUE(write_graph(graph, path.toStdString()));
        open(path);
        window->dock("flame")->raise();
        process_events();
        ASSERT_TRUE(flame().chart());
        flame().setFocus();
    }
    Session& session() { return window->session(); }
    FlameView& flame() { return *child<FlameView>("flame_view"); }
    const FlameData& data() { return flame().chart()->data; }
    QString sums() { return child<QLabel>("flame_sums")->text(); }
    double share(double at) { return at / data().length; }

    QPoint middle_of(int box) {
        const Rect place = place_of(flame().scene(), box);
        EXPECT_GT(place.width, 0);
        return {static_cast<int>(place.x + place.width / 2), static_cast<int>(place.y + place.height / 2)};
    }
    /// Returns the point on the ruler at `share` of the shown range; 0 is the beginning, 1 the end.
    QPoint on_ruler(double share) {
        const Rect ruler = places_of(flame().scene()).ruler;
        return {static_cast<int>(ruler.x + share * ruler.width), static_cast<int>(ruler.y + 8)};
    }
    void drag(const QPoint& from, const QPoint& to, Qt::KeyboardModifiers modifiers = {}) {
        QWidget* on = flame().viewport();
        QTest::mousePress(on, Qt::LeftButton, modifiers, from);
        QMouseEvent move(QEvent::MouseMove, to, Qt::LeftButton, Qt::LeftButton, modifiers);
        QCoreApplication::sendEvent(on, &move);
        QTest::mouseRelease(on, Qt::LeftButton, modifiers, to);
    }
    void click(const QPoint& at, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseClick(flame().viewport(), Qt::LeftButton, modifiers, at);
    }
    void point_at(const QPoint& at) {
        QMouseEvent move(QEvent::MouseMove, at, Qt::NoButton, Qt::NoButton, {});
        QCoreApplication::sendEvent(flame().viewport(), &move);
    }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
        QTest::keyClick(&flame(), key, modifiers);
    }
    /// Returns the index of the module's first box that is not a single run; -1 if there is none. The boxes
    /// of the forward pass come first.
    int box_of_module(const std::string& module) {
        for (std::size_t i = 0; i < data().boxes.size(); ++i)
            if (module_of(data(), session().graph()->graph, data().boxes[i]) == module &&
                !data().boxes[i].is_run)
                return static_cast<int>(i);
        return -1;
    }
    void run_ops_again() {
        Schedule schedule = keep_all_schedule(*session().graph());
        schedule.solver = "again";
        const TensorId made = session().graph()->graph.ops[OpId(0)].outputs.front();
        for (int i = 0; i < 2; ++i)
            schedule.steps.insert(schedule.steps.begin(), {Step::run(OpId(0)), Step::free(made)});
        const Result<Simulation> played = simulate(session().graph()->graph, schedule);
        ASSERT_TRUE(played);
        schedule.overhead =
            static_cast<double>(played->time.value) / static_cast<double>(schedule.time.value);
        schedule.time = played->time;
        schedule.bound.reset();
        schedule.status = "feasible";
        session().set_schedule(prepare_schedule(session().graph(), schedule));
    }
};

TEST_F(Flames, WAndSZoomAndAAndDMove) {
    press(Qt::Key_W);
    press(Qt::Key_W);
    EXPECT_NEAR(share(flame().from()), 0.18, 0.001) << "about the middle";
    EXPECT_NEAR(share(flame().to()), 0.82, 0.001);
    press(Qt::Key_A);
    EXPECT_NEAR(share(flame().from()), 0.18 - 0.15 * 0.64, 0.001);
    press(Qt::Key_D);
    press(Qt::Key_D);
    EXPECT_NEAR(share(flame().from()), 0.18 + 0.15 * 0.64, 0.001);
    EXPECT_NEAR(share(flame().to() - flame().from()), 0.64, 0.001);
    for (int i = 0; i < 4; ++i) press(Qt::Key_S);
    EXPECT_DOUBLE_EQ(flame().to() - flame().from(), data().length);
    EXPECT_EQ(session().selection.current(), Selected()) << "the keys are no shortcuts of the graph here";
}

TEST_F(Flames, ZoomsAtThePointer) {
    const QPoint at = on_ruler(0.25);
    point_at(at);
    for (int i = 0; i < 3; ++i) press(Qt::Key_W);
    const auto under = [&] {
        const FlamePlaces places = places_of(flame().scene());
        return share(places.x.value_at(at.x()));
    };
    EXPECT_NEAR(under(), 0.25, 0.002);
    const double span = flame().to() - flame().from();
    QWheelEvent turn(at, flame().viewport()->mapToGlobal(at), QPoint(), QPoint(0, 240), Qt::NoButton,
                     Qt::NoModifier, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(flame().viewport(), &turn);
    EXPECT_LT(flame().to() - flame().from(), span);
    EXPECT_NEAR(under(), 0.25, 0.002);
}

TEST_F(Flames, ADragMovesThePicture) {
    for (int i = 0; i < 4; ++i) press(Qt::Key_W);
    const double from = flame().from(), span = flame().to() - from;
    const Rect rows = places_of(flame().scene()).rows;
    const int y = static_cast<int>(rows.y + 8);
    drag({400, y}, {300, y});
    EXPECT_NEAR(flame().from() - from, 100 / rows.width * span, span * 1e-6);
    EXPECT_FALSE(flame().span()) << "nothing was chosen";
    EXPECT_TRUE(session().selection.current().empty());
}

TEST_F(Flames, ADragWithShiftOrOnTheRulerSumsUpASpan) {
    EXPECT_TRUE(sums().startsWith("The step: "));
    const Rect rows = places_of(flame().scene()).rows;
    const int y = static_cast<int>(rows.y + 8);
    drag({static_cast<int>(rows.x + rows.width * 0.1), y}, {static_cast<int>(rows.x + rows.width * 0.3), y},
         Qt::ShiftModifier);
    ASSERT_TRUE(flame().span());
    const auto [first, last] = *flame().span();
    EXPECT_EQ(std::pair(first, last), data().runs_between(data().length * 0.1, data().length * 0.3));
    const FlameSums told = data().sums(first, last);
    for (const QString& part : {time_text(told.time), QString("%1 runs").arg(last - first + 1),
                                bytes_text(told.made), bytes_text(told.most_held)})
        EXPECT_TRUE(sums().contains(part)) << sums().toStdString() << ": " << part.toStdString();
    EXPECT_TRUE(sums().startsWith("Chosen: "));
    EXPECT_DOUBLE_EQ(flame().to() - flame().from(), data().length) << "the picture stayed where it was";

    drag(on_ruler(0.91), on_ruler(0.52));
    EXPECT_EQ(*flame().span(), data().runs_between(data().length * 0.52, data().length * 0.91))
        << "backwards";
    click(on_ruler(0.2));
    EXPECT_FALSE(flame().span());
    EXPECT_TRUE(sums().startsWith("The step: "));
}

TEST_F(Flames, TheSumsTellWhatRunsAgain) {
    EXPECT_FALSE(sums().contains("again"));
    run_ops_again();
    EXPECT_TRUE(sums().contains("2 of them again (2.00 ms)")) << sums().toStdString();
    const FlameSums told = data().sums(0, static_cast<int>(data().runs.size()) - 1);
    EXPECT_EQ(told.time, session().schedule()->simulation.time);
    EXPECT_EQ(told.most_held, session().schedule()->simulation.peak);
    EXPECT_EQ(told.again, session().schedule()->reruns);
}

TEST_F(Flames, AClickSelectsTheOpOrTheBlockInAllViews) {
    const int module = box_of_module("h.2");
    click(middle_of(module));
    const Selected block = session().selection.current();
    ASSERT_TRUE(block.block.valid());
    EXPECT_EQ(session().graph()->graph.blocks[block.block].path, "h.2");
    EXPECT_EQ(flame().focused(), module);
    const int op = data().boxes_in(module).front();
    click(middle_of(op));
    EXPECT_EQ(session().selection.current(), Selected::of(data().run(data().box(op).first).op));
    EXPECT_EQ(session().selection.cursor(), data().run(data().box(op).first).step);
    EXPECT_TRUE(flame().accessibleDescription().contains("layer_norm")) << "the box is told";
}

TEST_F(Flames, ADoubleClickZoomsToTheBoxAndBesideTheBoxesShowsAll) {
    const int module = box_of_module("h.3");
    const QPoint at = middle_of(module);
    QTest::mouseDClick(flame().viewport(), Qt::LeftButton, {}, at);
    EXPECT_DOUBLE_EQ(flame().from(), data().begin_of(data().box(module)));
    EXPECT_DOUBLE_EQ(flame().to(), data().end_of(data().box(module)));
    QTest::mouseDClick(flame().viewport(), Qt::LeftButton, {}, on_ruler(0.5));
    EXPECT_DOUBLE_EQ(flame().to() - flame().from(), data().length);
}

TEST_F(Flames, KeysAloneGoThroughTheBoxesSelectZoomAndSumUp) {
    press(Qt::Key_Left);  // focuses the box in the middle of the uppermost row
    ASSERT_GE(flame().focused(), 0);
    EXPECT_EQ(data().box(flame().focused()).level, 0);
    for (int i = 0; i < 5; ++i) press(Qt::Key_Left);
    EXPECT_EQ(flame().focused(), 0) << "the forward pass";
    press(Qt::Key_Down);
    press(Qt::Key_Right);
    press(Qt::Key_Down);
    press(Qt::Key_Right);
    EXPECT_EQ(flame().focused(), box_of_module("h.1"));
    press(Qt::Key_Return);
    EXPECT_EQ(session().graph()->graph.blocks[session().selection.current().block].path, "h.1");
    press(Qt::Key_Return, Qt::ShiftModifier);
    EXPECT_DOUBLE_EQ(flame().from(), data().begin_of(data().box(flame().focused())));
    press(Qt::Key_Right, Qt::ShiftModifier);
    press(Qt::Key_Right, Qt::ShiftModifier);
    ASSERT_TRUE(flame().span());
    EXPECT_EQ(data().sums(flame().span()->first, flame().span()->second).runs, 8) << "h.1 and h.2";
    press(Qt::Key_Up);
    EXPECT_EQ(flame().focused(), box_of_module("h"));
    press(Qt::Key_Escape);
    EXPECT_FALSE(flame().span());
    EXPECT_DOUBLE_EQ(flame().to() - flame().from(), data().length);
    EXPECT_FALSE(session().selection.current().empty()) << "first what was done in the view";
    press(Qt::Key_Escape);
    EXPECT_TRUE(session().selection.current().empty());
}

TEST_F(Flames, WhatIsSelectedElsewhereIsTheBoxThatKeysGoOnFrom) {
    const OpId op(9);
    session().selection.select(Selected::of(op));
    ASSERT_GE(flame().focused(), 0);
    EXPECT_TRUE(data().box(flame().focused()).is_run);
    EXPECT_EQ(data().run(data().box(flame().focused()).first).op, op);
    session().selection.clear();
    EXPECT_EQ(flame().focused(), -1);
}

TEST_F(Flames, TipsTellModuleOpTimeAndBytes) {
    const int module = box_of_module("h.2.mlp");
    const QString tip = flame().tip_at(middle_of(module));
    EXPECT_TRUE(tip.contains("h.2.mlp")) << tip.toStdString();
    EXPECT_TRUE(tip.contains("2 runs")) << tip.toStdString();
    EXPECT_TRUE(tip.contains("2.00 MiB made")) << tip.toStdString();
    const QString of_op = flame().tip_at(middle_of(data().boxes_in(module).front()));
    for (const char* part : {"addmm #", "h.2.mlp.fc", "forward", "1.00 ms", "1.00 MiB made"})
        EXPECT_TRUE(of_op.contains(part)) << of_op.toStdString();
    EXPECT_TRUE(flame().tip_at(on_ruler(0.5)).isEmpty());
}

TEST_F(Flames, WithoutAScheduleItIsTheStepWithoutRecomputation) {
    run_ops_again();
    EXPECT_GT(data().runs.size(), session().graph()->graph.ops.size());
    session().plans.show(PlanList::none);
    ASSERT_TRUE(eventually([&] { return session().schedule() == nullptr; }));
    EXPECT_EQ(data().runs.size(), session().graph()->graph.ops.size());
    click(middle_of(0));
    session().close();
    EXPECT_FALSE(flame().chart());
    EXPECT_TRUE(sums().isEmpty());
    for (const Qt::Key key : {Qt::Key_W, Qt::Key_D, Qt::Key_Right, Qt::Key_Return, Qt::Key_Escape})
        press(key);
    drag({100, 60}, {300, 60});
    flame().grab();
}

TEST_F(Flames, TheTableHasARowABoxAndSelectsAsThePictureDoes) {
    auto* both = qobject_cast<PictureOrTable*>(window->dock("flame")->widget());
    ASSERT_TRUE(both);
    const FiguresTable& table = both->figures();
    ASSERT_EQ(table.rowCount(), static_cast<int>(data().boxes.size()));
    qint64 time = 0;
    for (int row = 0; row < table.rowCount(); ++row)
        if (cell_of(table, row, "Level").data(FiguresTable::value_role).toInt() == 0)
            time += cell_of(table, row, "Time").data(FiguresTable::value_role).toLongLong();
    EXPECT_EQ(time, session().schedule()->simulation.time.value) << "the phases take all of the step";
    const int module = box_of_module("h.4");
    emit both->chosen(module);
    EXPECT_EQ(flame().focused(), module);
    EXPECT_EQ(session().graph()->graph.blocks[session().selection.current().block].path, "h.4");
    emit both->activated(module);
    EXPECT_DOUBLE_EQ(flame().from(), data().begin_of(data().box(module)));
}

TEST_F(Flames, RowsThatHaveNoRoomAreScrolledTo) {
    window->dock("flame")->setFloating(true);
    window->dock("flame")->resize(700, 110);
    process_events();
    QScrollBar& rows = *flame().verticalScrollBar();
    ASSERT_GT(rows.maximum(), 0);
    for (int i = 0; i < 8; ++i) press(Qt::Key_Left);
    press(Qt::Key_Down);
    press(Qt::Key_Right);
    for (int i = 0; i < 4; ++i) press(Qt::Key_Down);
    const FlameBox& box = data().box(flame().focused());
    EXPECT_TRUE(box.is_run);
    EXPECT_GE(box.level, rows.value());
    EXPECT_LT(box.level, rows.value() + rows.pageStep());
    EXPECT_GE(flame().scene().row_height, 14);
}

TEST_F(Flames, ThePartThatIsChosenOnTheStripIsShown) {
    const int steps = static_cast<int>(session().schedule()->schedule.steps.size());
    session().selection.set_range({steps / 4, steps / 2});
    const auto& begin = data().step_begin;
    EXPECT_DOUBLE_EQ(flame().from(), begin[static_cast<std::size_t>(steps / 4)]);
    EXPECT_DOUBLE_EQ(flame().to(), begin[static_cast<std::size_t>(steps / 2 + 1)]);
    window->lanes().set_range(data().length * 0.5, data().length * 0.75);
    EXPECT_NEAR(share(flame().from()), 0.5, 0.03);
    EXPECT_NEAR(share(flame().to()), 0.75, 0.03);
    press(Qt::Key_S);
    EXPECT_GT(share(flame().to() - flame().from()), 0.27) << "one can look at more of it here";
    session().selection.set_range({});
    EXPECT_DOUBLE_EQ(flame().to() - flame().from(), data().length);
    session().selection.set_range({0, steps - 1});
    EXPECT_DOUBLE_EQ(flame().to() - flame().from(), data().length);
}

TEST_F(Flames, ShowWhatRunsOnTheHost) {
    const QString graph = folder.filePath("updated.graph.json"),
                  plan = folder.filePath("updated.schedule.json");
    Graph with_update = graph_with_update();
    ASSERT_TRUE(write_graph(with_update, graph.toStdString()));
    open(graph);
    Schedule schedule = with_update_on_host();
    schedule.graph_sha256 = session().graph()->graph.sha256;
    ASSERT_TRUE(write_schedule(schedule, plan.toStdString()));
    open(plan);
    ASSERT_TRUE(flame().chart()) << window->last_error().toStdString();
    ASSERT_GT(static_cast<int>(data().runs.size()), data().device_runs) << window->last_error().toStdString();
    EXPECT_TRUE(sums().contains("on the host 1 runs")) << sums().toStdString();
    const int update = static_cast<int>(data().boxes.size()) - 1;
    EXPECT_TRUE(flame().tip_at(middle_of(update)).contains("optimizer, on the host"));
    click(middle_of(update));
    EXPECT_EQ(session().selection.current(), Selected::of(OpId(2)));
    EXPECT_EQ(session().selection.cursor(), data().run(data().box(update).first).step);
    press(Qt::Key_Up);
    EXPECT_EQ(flame().focused(), data().box(update).parent);
    EXPECT_FALSE(flame().grab().isNull());
}

TEST_F(Flames, TenThousandOpsArePaintedAndWalkedThrough) {
    open_layers(1250);
    ASSERT_GT(data().runs.size(), 10'000u);
    EXPECT_FALSE(flame().grab().isNull());
    for (int i = 0; i < 40; ++i) press(Qt::Key_W);
    for (int i = 0; i < 10; ++i) press(Qt::Key_D);
    EXPECT_FALSE(flame().grab().isNull());
    const std::pair<int, int> seen = data().runs_between(flame().from(), flame().to());
    EXPECT_LT(seen.second - seen.first, 20);
}

}  // namespace
}  // namespace rematlas::explorer
