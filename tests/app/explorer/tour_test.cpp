// Does the work of a user with mouse and keyboard, from a TorchScript file to a plan for training.
//
//     explorer_tour MODEL.pt REMATLAS     REMATLAS: the command line, which runs the plan
//
// The inputs of the model are in the .json file beside it. The program works on copies, in its own folder. If
// REMATLAS_KEEP_PICTURES names a folder, pictures of the window and of all docks are saved there.
#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QProcess>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>
#include <QtTest>

#include "app/explorer/docks/alive_view.h"
#include "app/explorer/docks/compare_picture.h"
#include "app/explorer/docks/flame_view.h"
#include "app/explorer/docks/lifetimes_picture.h"
#include "app/explorer/docks/sweep_plot.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/window/main_window.h"
#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/schedule/schedule_file.h"

namespace rematlas::explorer {
namespace {

QString model_file, command_line;

template <class Condition>
bool soon(Condition condition, int seconds = 120) {
    QElapsedTimer clock;
    clock.start();
    while (!condition() && clock.elapsed() < seconds * 1000) QTest::qWait(10);
    return condition();
}

class Tour : public testing::Test {
  protected:
    void SetUp() override {
        const QFileInfo model(model_file);
        file = folder.filePath("net.pt");
        ASSERT_TRUE(QFile::copy(model_file, file)) << model_file.toStdString();
        ASSERT_TRUE(QFile::copy(model.absolutePath() + '/' + model.completeBaseName() + ".json",
                                folder.filePath("net.json")));
        settings = std::make_unique<QSettings>(folder.filePath("settings.ini"), QSettings::IniFormat);
        window = std::make_unique<MainWindow>(settings.get());
        window->resize(1280, 800);
        window->show();
        window->activateWindow();
        ASSERT_TRUE(QTest::qWaitForWindowActive(window.get()));
    }
    Session& session() { return window->session(); }
    template <class Widget>
    Widget* find(const char* name) {
        return window->findChild<Widget*>(name);
    }
    void click(QWidget* widget) {
        ASSERT_NE(widget, nullptr);
        ASSERT_TRUE(widget->isVisible() && widget->isEnabled()) << widget->objectName().toStdString();
        QTest::mouseClick(widget, Qt::LeftButton);
    }
    /// Presses a key in the window. Activates the window first, as a desktop does after a dialog.
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
        window->activateWindow();
        ASSERT_TRUE(QTest::qWaitForWindowActive(window.get()));
        QTest::keyClick(window.get(), key, modifiers);
    }
    void type(QLineEdit* field, const QString& text) {
        field->setFocus();
        field->selectAll();
        QTest::keyClicks(field, text);
        QTest::keyClick(field, Qt::Key_Return);
    }
    void show_dock(const char* name) {
        window->dock(name)->show();
        window->dock(name)->raise();
        QTest::qWait(50);
    }
    void click_row(QTreeView* table, int row) {
        const QModelIndex index = table->model()->index(row, 1);
        table->scrollTo(index);
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(index).center());
    }
    bool idle() { return !session().busy() && !session().probe.running(); }
    /// Returns the menu item whose title begins with the text.
    QAction* item(const QString& text) {
        for (QAction* action : window->findChildren<QAction*>())
            if (action->text().remove('&').startsWith(text)) return action;
        return nullptr;
    }
    /// Triggers the menu item, and types the path into the file dialog that the item opens.
    void save_by(const QString& title, const QString& path) {
        QAction* action = item(title);
        ASSERT_NE(action, nullptr) << title.toStdString();
        ASSERT_TRUE(action->isEnabled()) << title.toStdString();
        QTimer::singleShot(300, window.get(), [&] {
            auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            ASSERT_NE(dialog, nullptr);
            auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
            ASSERT_NE(name, nullptr);
            name->setText(path);
            QTest::keyClick(name, Qt::Key_Return);
        });
        action->trigger();
        ASSERT_TRUE(soon([&] { return QFile::exists(path); })) << window->last_error().toStdString();
    }

    void opens_and_captures();
    void chooses_a_card_and_a_budget();
    void solves();
    void sweeps_and_clicks_a_point();
    void looks_at_the_peak();
    void sums_up_a_span_and_sees_lifetimes();
    void asks_why_and_pins();
    void compares();
    void keeps_pictures(const QString& to);
    void exports_and_runs_the_plan();

    QTemporaryDir folder;
    QString file;
    std::unique_ptr<QSettings> settings;
    std::unique_ptr<MainWindow> window;
};

void Tour::opens_and_captures() {
    window->open({file});
    auto* dialog = window->findChild<QDialog*>();
    ASSERT_NE(dialog, nullptr);
    QPushButton* capture = nullptr;
    for (auto* button : dialog->findChildren<QPushButton*>())
        if (button->text().remove('&') == "Capture") capture = button;
    click(capture);
    ASSERT_TRUE(soon([&] { return session().graph() != nullptr && idle(); }))
        << window->last_error().toStdString();
    EXPECT_TRUE(QFile::exists(folder.filePath("net.graph.json")));
    ASSERT_TRUE(soon([&] { return session().schedule() == session().all_kept(); }));
    EXPECT_FALSE(window->lanes().data().bars.empty()) << "the step without recomputation is shown at once";
}

void Tour::chooses_a_card_and_a_budget() {
    auto* card = find<QComboBox>("card");
    card->setFocus();
    QTest::keyClick(card, Qt::Key_Down);
    ASSERT_TRUE(soon([&] { return find<QLabel>("fit_headline")->text().startsWith("Fits"); }, 5))
        << find<QLabel>("fit_headline")->text().toStdString();
    show_dock("solve");
    press(Qt::Key_B, Qt::ControlModifier);
    type(find<QLineEdit>("budget"), "70 %");
    EXPECT_EQ(card->currentIndex(), 0) << "a budget that was typed is no card's";
    EXPECT_TRUE(find<QLabel>("fit_headline")->text().startsWith("Needs"))
        << find<QLabel>("fit_headline")->text().toStdString();
}

void Tour::solves() {
    press(Qt::Key_Return, Qt::ControlModifier);
    ASSERT_TRUE(soon([&] { return idle() && session().schedule() && session().schedule()->reruns > 0; }))
        << window->last_error().toStdString();
    EXPECT_LE(session().schedule()->report.peak, session().budget.budget());
    EXPECT_TRUE(find<QLabel>("fit_headline")->text().contains("with plan"));
}

void Tour::sweeps_and_clicks_a_point() {
    show_dock("tradeoff");
    const int before = session().plans.rowCount();
    press(Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
    ASSERT_TRUE(soon([&] { return session().sweep.running(); }, 5));
    ASSERT_TRUE(soon([&] { return idle(); }));
    EXPECT_GT(session().plans.rowCount(), before) << "each point that was found is a plan";
    auto* plot = window->findChild<SweepPlot*>();
    const QString shown = session().plans.plan(session().plans.shown()).key;
    bool changed = false;
    for (int x = 0; x < plot->width() && !changed; x += 4)
        for (int y = 0; y < plot->height() && !changed; y += 4) {
            const auto marker = plot->nearest(QPointF(x, y));
            if (!marker) continue;
            QTest::mouseClick(plot, Qt::LeftButton, {}, QPoint(x, y));
            QTest::qWait(20);
            changed = session().plans.plan(session().plans.shown()).key != shown &&
                      session().schedule()->reruns > 0;
        }
    EXPECT_TRUE(changed) << "a click on a point shows its plan";
}

void Tour::looks_at_the_peak() {
    press(Qt::Key_P, Qt::ControlModifier);
    const SchedulePtr& schedule = session().schedule();
    EXPECT_EQ(session().selection.cursor(), static_cast<int>(schedule->simulation.peak_step));
    show_dock("alive");
    auto* table = find<QTreeView>("alive");
    ASSERT_GT(table->model()->rowCount(), 0);
    EXPECT_FALSE(find<QLabel>("alive_headline")->text().isEmpty());
    click_row(table, 0);
}

void Tour::sums_up_a_span_and_sees_lifetimes() {
    show_dock("flame");
    auto* flame = find<FlameView>("flame_view");
    flame->setFocus();
    QTest::keyClick(flame, Qt::Key_W);
    EXPECT_LT(flame->to() - flame->from(), flame->chart()->data.length);
    for (const Qt::KeyboardModifiers modifiers : {Qt::NoModifier, Qt::ShiftModifier, Qt::ShiftModifier})
        QTest::keyClick(flame, Qt::Key_Right, modifiers);
    EXPECT_TRUE(find<QLabel>("flame_sums")->text().startsWith("Chosen"))
        << find<QLabel>("flame_sums")->text().toStdString();
    show_dock("alive");
    click(find<QToolButton>("alive_lifetimes"));
    auto* bars = find<LifetimesPicture>("lifetimes_picture");
    EXPECT_EQ(bars->bars().total, window->findChild<AliveView*>()->model().total());
}

void Tour::asks_why_and_pins() {
    // Selects an op that the plan runs again, by a click on the bar of the rerun.
    LanesView& lanes = window->lanes();
    show_dock("schedule");
    const LaneData& data = lanes.data();
    const auto width = [](const LaneBar& bar) {
        return bar.lane == DrawnLane::recompute ? bar.end - bar.begin : 0;
    };
    const auto again =
        std::max_element(data.bars.begin(), data.bars.end(),
                         [&](const LaneBar& a, const LaneBar& b) { return width(a) < width(b); });
    ASSERT_GT(width(*again), 0);
    const Rect plot = lanes.plot();
    const double middle = (again->begin + again->end) / 2 / data.length;
    const double pixels = (again->end - again->begin) / data.length * plot.width;
    if (pixels < 3)  // the bar is too narrow to be clicked
        session().selection.select(Selected::of(session().schedule()->schedule.steps[again->step].op()));
    else
        QTest::mouseClick(
            &lanes, Qt::LeftButton, {},
            QPoint(static_cast<int>(plot.x + middle * plot.width), static_cast<int>(plot.y + 10)));
    const OpId op = session().selection.current().op;
    ASSERT_TRUE(op.valid());
    ASSERT_GT(session().schedule()->decisions.runs[op], 1);
    show_dock("why");
    const QString why = find<QLabel>("why")->text();
    EXPECT_TRUE(why.contains("If it is kept")) << why.toStdString();
    EXPECT_TRUE(why.contains("Lies unused")) << why.toStdString();

    press(Qt::Key_K, Qt::ControlModifier | Qt::ShiftModifier);
    ASSERT_EQ(session().pins.rowCount(), 1);
    const SchedulePtr before = session().schedule();
    // Solves with a larger budget, because the pinned tensor perhaps does not fit into the smallest budget of
    // the sweep.
    show_dock("solve");
    press(Qt::Key_B, Qt::ControlModifier);
    type(find<QLineEdit>("budget"), "85 %");
    press(Qt::Key_Return, Qt::ControlModifier);
    ASSERT_TRUE(soon([&] { return idle() && session().schedule() && session().schedule() != before; }))
        << window->last_error().toStdString();
    EXPECT_EQ(session().schedule()->decisions.runs[op], 1) << "a pinned op is not made again";
    EXPECT_EQ(session().schedule()->schedule.pins.size(), 1u) << "the plan tells its pins";
}

void Tour::compares() {
    show_dock("compare");
    auto* other = find<QComboBox>("compare_with");
    other->setFocus();
    other->setCurrentIndex(0);
    QTest::keyClick(other, Qt::Key_Down);
    ASSERT_TRUE(soon([&] { return session().compared_plan() == 1 && !session().compare.running(); }));
    ASSERT_NE(session().compare.compared(), nullptr);
    EXPECT_FALSE(find<QLabel>("compare_headline")->text().isEmpty());
}

/// Saves pictures of the window and of each dock for people to look at, in the light and the dark theme.
void Tour::keeps_pictures(const QString& to) {
    const QString scale = window->devicePixelRatioF() > 1 ? "_2x" : "";
    session().selection.reveal(session().selection.current());
    ASSERT_TRUE(soon([&] { return idle(); }));
    for (const auto& [name, choice] :
         {std::pair{"light", theme::Choice::light}, {"dark", theme::Choice::dark}}) {
        theme::choose(choice);
        for (const QString& dock : window->dock_names()) {
            show_dock(qPrintable(dock));
            QTest::qWait(200);
            EXPECT_TRUE(
                window->dock(dock)->grab().save(QString("%1/%2_%3%4.png").arg(to, dock, name, scale)));
        }
        for (const char* dock : {"schedule", "blocks", "why"}) show_dock(dock);
        EXPECT_TRUE(window->grab().save(QString("%1/window_%2%3.png").arg(to, name, scale)));
    }
}

void Tour::exports_and_runs_the_plan() {
    const QString schedule = folder.filePath("mine.schedule.json"), plan = folder.filePath("mine.plan");
    save_by("Schedule (.schedule.json)", schedule);
    save_by("Plan for training", plan);
    ASSERT_TRUE(soon([&] { return QFileInfo(plan).size() > 0 && QFileInfo(schedule).size() > 0; }));
    const Result<Graph> graph = read_graph(folder.filePath("net.graph.json").toStdString());
    const Result<Schedule> saved = read_schedule(schedule.toStdString());
    ASSERT_TRUE(graph && saved);
    EXPECT_TRUE(check(*graph, *saved, saved->budget).ok());
    QProcess run;
    run.setProcessChannelMode(QProcess::MergedChannels);
    run.start(command_line, {"run", file, plan, "--verify", "--steps", "2"});
    ASSERT_TRUE(run.waitForFinished(120000));
    EXPECT_EQ(run.exitCode(), 0) << run.readAll().toStdString();
}

TEST_F(Tour, FromAModelToAPlanThatTrains) {
    const auto goes_well = [this](const char* step) {
        EXPECT_TRUE(window->last_error().isEmpty()) << step << ": " << window->last_error().toStdString();
        return !HasFailure();
    };
    opens_and_captures();
    ASSERT_TRUE(goes_well("capture"));
    chooses_a_card_and_a_budget();
    ASSERT_TRUE(goes_well("card and budget"));
    solves();
    ASSERT_TRUE(goes_well("solve"));
    sweeps_and_clicks_a_point();
    ASSERT_TRUE(goes_well("sweep"));
    looks_at_the_peak();
    ASSERT_TRUE(goes_well("peak"));
    sums_up_a_span_and_sees_lifetimes();
    ASSERT_TRUE(goes_well("flame chart and lifetimes"));
    asks_why_and_pins();
    ASSERT_TRUE(goes_well("why and pin"));
    compares();
    ASSERT_TRUE(goes_well("compare"));
    if (const QString to = qEnvironmentVariable("REMATLAS_KEEP_PICTURES"); !to.isEmpty()) keeps_pictures(to);
    ASSERT_TRUE(goes_well("pictures"));
    exports_and_runs_the_plan();
    ASSERT_TRUE(goes_well("export and run"));
}

}  // namespace
}  // namespace rematlas::explorer

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    QApplication app(argc, argv);
    if (argc != 3) {
        qWarning("usage: explorer_tour MODEL.pt REMATLAS");
        return 2;
    }
    rematlas::explorer::model_file = argv[1];
    rematlas::explorer::command_line = argv[2];
    rematlas::explorer::theme::apply(app);
    return RUN_ALL_TESTS();
}
