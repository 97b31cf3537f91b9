#include <gtest/gtest.h>

#include <QComboBox>
#include <QDialog>
#include <QDockWidget>
#include <QFile>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QScreen>
#include <QSlider>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>
#include <QTimer>
#include <QToolButton>
#include <cmath>
#include <map>
#include <set>

#include "app/explorer/docks/alive_view.h"
#include "app/explorer/docks/sweep_plot.h"
#include "app/explorer/docks/tradeoff_view.h"
#include "app/explorer/window/main_window.h"
#include "core/costs/link_profile.h"
#include "core/hierarchy/decompose.h"
#include "core/schedule/schedule_file.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

TEST_F(Windows, ShowsAWelcomeUntilAGraphIsOpen) {
    for (const QString& name : window->dock_names())
        EXPECT_FALSE(window->dock(name)->isVisible()) << name.toStdString();
    open(write_chain(folder, 4));
    for (const QString& name : window->dock_names())
        EXPECT_TRUE(window->dock(name)->isVisible()) << name.toStdString();
    EXPECT_GT(window->block_tree().tree().model()->rowCount(), 0);
    EXPECT_TRUE(window->windowTitle().contains("chain"));
    window->session().close();
    EXPECT_FALSE(window->dock("blocks")->isVisible());
}

TEST_F(Windows, FieldAndSliderFollowEachOther) {
    open(write_chain(folder, 6));
    auto* field = child<QLineEdit>("budget");
    auto* slider = child<QSlider>("budget_slider");
    field->selectAll();
    QTest::keyClicks(field, "100%");
    EXPECT_EQ(slider->value(), BudgetController::slider_steps);
    slider->setValue(0);
    EXPECT_EQ(window->session().budget.slider(), 0);
    EXPECT_EQ(field->text(), window->session().budget.text());
    field->selectAll();
    QTest::keyClicks(field, "much");
    EXPECT_FALSE(child<QPushButton>("solve")->isEnabled());
    EXPECT_FALSE(child<QLabel>("budget_error")->text().isEmpty());
    slider->setValue(400);
    EXPECT_TRUE(child<QPushButton>("solve")->isEnabled());
}

TEST_F(Windows, SolvesAndShowsTheSchedule) {
    open(write_chain(folder, 8));
    child<QComboBox>("solver")->setCurrentText("chen-greedy");
    child<QLineEdit>("budget")->setText("80%");
    window->session().budget.set_text("80%");
    QTest::mouseClick(child<QPushButton>("solve"), Qt::LeftButton);
    ASSERT_TRUE(eventually([&] { return !window->session().solver.running(); }));
    EXPECT_TRUE(window->session().schedule()->ok());
    EXPECT_FALSE(window->lanes().data().bars.empty());
    EXPECT_TRUE(child<QLabel>("answer")->text().contains("chen-greedy"));
}

TEST_F(Windows, ExplainsABudgetThatNothingFits) {
    open(write_chain(folder, 6));
    window->session().budget.set_text("4096");
    window->solve_panel().solve();
    ASSERT_TRUE(eventually([&] { return !window->session().solver.running(); }));
    EXPECT_TRUE(child<QLabel>("answer")->text().contains("No schedule fits"))
        << child<QLabel>("answer")->text().toStdString();
    EXPECT_TRUE(child<QPushButton>("solve")->isVisible()) << "one can try again";
}

/// Writes a step whose tensors are so large that copying one of them takes some milliseconds.
QString write_heavy_chain(const QTemporaryDir& folder, const QString& name) {
    return write_chain(folder, 12, name, Bytes(16 << 20), Nanoseconds(1'600'000));
}

TEST_F(Windows, SolvesWithCopiesToTheHostOverALinkThatIsNotThere) {
    open(write_heavy_chain(folder, "slow"));
    auto* copies = child<QComboBox>("copies");
    auto* link = child<QComboBox>("link");
    EXPECT_EQ(link->findText("as captured"), -1) << "the graph names no device";
    copies->setCurrentIndex(copies->findText("activations"));
    emit copies->activated(copies->currentIndex());
    EXPECT_NE(link->findText("pcie5"), -1) << "a link without a device";
    link->setCurrentIndex(link->findText("h100"));
    emit link->activated(link->currentIndex());
    EXPECT_EQ(child<QLabel>("link_remark")->text(), "50 GB/s each way");
    Session& session = window->session();
    session.budget.set_text("60%");
    SolveSettings settings = session.solve_settings();
    settings.time = std::chrono::seconds(6);
    session.set_solve_settings(settings);
    window->solve_panel().solve();
    ASSERT_TRUE(eventually([&] { return session.schedule() && !session.solver.running(); }));
    const LoadedSchedule& shown = *session.schedule();
    EXPECT_TRUE(shown.report.ok());
    EXPECT_GT(shown.report.to_host.bytes.value, 0) << "a copy takes a fifth of an op's time";
    EXPECT_TRUE(child<QLabel>("answer")->text().contains("to the host"));
    EXPECT_FALSE(window->lanes().data().host.empty());
    QString tip;
    for (const LaneBar& bar : window->lanes().data().bars) {
        if (bar.lane != DrawnLane::to_host) continue;
        const SchedulePlaces places = window->lanes().places();
        const auto lane = std::find(window->lanes().data().lanes.begin(), window->lanes().data().lanes.end(),
                                    DrawnLane::to_host);
        const Rect row = places.lanes[static_cast<std::size_t>(lane - window->lanes().data().lanes.begin())];
        tip = window->lanes().tip_at(QPointF(places.x.at((bar.begin + bar.end) / 2), row.y + row.height / 2));
    }
    EXPECT_TRUE(tip.contains("goes to the host: 16.0 MiB")) << tip.toStdString();
    auto* solver = child<QComboBox>("solver");
    solver->setCurrentText("rotor");
    EXPECT_FALSE(copies->isEnabled()) << "it copies nothing";
    EXPECT_EQ(session.solve_settings().copies.what, Offload::none);
}

TEST_F(Windows, AsksWhatThePlanWouldCostOverAnotherLinkAndSolvesForIt) {
    open(write_heavy_chain(folder, "asked"));
    Session& session = window->session();
    auto* asked = child<QComboBox>("what_if_link");
    EXPECT_TRUE(asked->parentWidget()->isHidden()) << "nothing is copied";
    session.set_solve_settings({.time = std::chrono::seconds(6),
                                .copies = {.what = Offload::activations, .links = *links_named("pcie4")}});
    session.budget.set_text("50%");
    window->solve_panel().solve();
    ASSERT_TRUE(eventually([&] { return !session.solver.running(); }));
    ASSERT_TRUE(session.schedule() && session.schedule()->schedule.host_peak);
    EXPECT_FALSE(asked->parentWidget()->isHidden());
    EXPECT_TRUE(asked->currentText().contains("PCI Express 4")) << asked->currentText().toStdString();
    auto* told = child<QLabel>("what_if_told");
    auto* solve = child<QPushButton>("what_if_solve");
    EXPECT_TRUE(told->isHidden() && solve->isHidden());
    asked->setCurrentIndex(asked->findText("pcie3"));
    emit asked->activated(asked->currentIndex());
    EXPECT_TRUE(told->text().contains("PCI Express 3")) << told->text().toStdString();
    const Bytes budget = session.schedule()->schedule.budget;
    solve->click();
    ASSERT_TRUE(eventually([&] { return !session.solver.running(); }));
    EXPECT_EQ(session.schedule()->schedule.links, *links_named("pcie3"));
    EXPECT_EQ(session.schedule()->schedule.budget, budget);
    EXPECT_TRUE(session.schedule()->ok());
    session.plans.show(0);
    EXPECT_TRUE(asked->parentWidget()->isHidden()) << "the step without recomputation copies nothing";
}

TEST_F(Windows, ABrokenFileIsAMessageAndLeavesWhatIsOpen) {
    open(write_chain(folder, 4));
    const GraphPtr before = window->session().graph();
    const QString path = folder.filePath("broken.graph.json");
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("{\"format\": \"rematlas.graph\", \"version\": 1, \"ops\": 7");
    file.close();
    open(path);
    EXPECT_TRUE(window->last_error().contains("broken.graph.json"));
    EXPECT_EQ(window->session().graph(), before);
}

TEST_F(Windows, AMessageDoesNotStopTheWindowFromClosing) {
    window->open({folder.filePath("absent.graph.json")});
    ASSERT_TRUE(eventually([&] { return child<QWidget>("message_bar")->isVisible(); }));
    window->close();
    window.reset();
}

TEST_F(Windows, SelectionIsSharedByTreeGraphAndLanes) {
    open(write_chain(folder, 5));
    window->session().set_schedule(
        prepare_schedule(window->session().graph(), keep_all_schedule(*window->session().graph())));
    window->session().selection.select(Selected::of(OpId(3)));
    EXPECT_EQ(window->block_tree().tree().currentIndex().data().toString(), "relu");
    QTest::mouseClick(&window->lanes(), Qt::LeftButton, {}, QPoint(window->lanes().width() - 20, 20));
    const OpId last(static_cast<int>(window->session().graph()->graph.ops.size()) - 1);
    EXPECT_EQ(window->session().selection.current(), Selected::of(last));
    EXPECT_GE(window->session().selection.cursor(), 0);
    EXPECT_EQ(window->block_tree().tree().currentIndex().data().toString(), "convolution_backward");
}

TEST_F(Windows, TheWheelZoomsTheLanesAndADoubleClickShowsAll) {
    open(write_chain(folder, 5));
    window->session().set_schedule(
        prepare_schedule(window->session().graph(), keep_all_schedule(*window->session().graph())));
    LanesView& lanes = window->lanes();
    const double whole = lanes.to() - lanes.from();
    const QPoint at(lanes.width() / 2, 20);
    QWheelEvent wheel(at, lanes.mapToGlobal(at), {}, {0, 480}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&lanes, &wheel);
    EXPECT_LT(lanes.to() - lanes.from(), whole);
    QTest::mouseDClick(&lanes, Qt::LeftButton, {}, at);
    EXPECT_DOUBLE_EQ(lanes.to() - lanes.from(), whole);
}

TEST_F(Windows, SweepsAndKeepsEveryPointsSchedule) {
    open(write_chain(folder, 8));
    Session& session = window->session();
    session.sweep.start(session.graph(), {"chen-greedy", "keep-all"}, 4, std::chrono::seconds(5));
    ASSERT_TRUE(eventually([&] { return !session.sweep.running(); }));
    ASSERT_FALSE(session.sweep.empty());
    int shown = 0;
    for (const SweepCurve& curve : session.sweep.sweep().curves) {
        for (const SweepPoint& point : curve.points) {
            if (point.peak.value <= 0) continue;
            ++shown;
            session.show_point({curve.solver, curve.copies, point});
            ASSERT_TRUE(session.schedule());
            EXPECT_TRUE(session.schedule()->ok()) << session.schedule()->report.violations.front();
            EXPECT_EQ(session.schedule()->report.peak, point.peak);
        }
    }
    EXPECT_GT(shown, 1);
}

TEST_F(Windows, SweepsWithAndWithoutCopiesAtOnceAndOpensTheirPoints) {
    const QString file = write_heavy_chain(folder, "linked");
    open(file);
    Session& session = window->session();
    auto* link = child<QComboBox>("link");
    link->setCurrentIndex(link->findText("pcie5"));
    emit link->activated(link->currentIndex());
    auto* menu = child<QToolButton>("sweep_copies")->menu();
    emit menu->aboutToShow();
    EXPECT_TRUE(menu->actions().back()->text().contains("PCI Express 5"))
        << menu->actions().back()->text().toStdString();
    for (QAction* action : menu->actions())
        if (action->text() == "activations") action->setChecked(true);
    auto* view = window->findChild<TradeoffView*>();
    ASSERT_TRUE(view);
    ASSERT_EQ(view->chosen_copies().size(), 2u);
    session.sweep.start(session.graph(), {"atlas"}, 4, std::chrono::seconds(12), {}, view->chosen_copies());
    ASSERT_TRUE(eventually([&] { return !session.sweep.running(); }));
    const Sweep sweep = session.sweep.sweep();
    ASSERT_EQ(sweep.curves.size(), 2u);
    EXPECT_EQ(sweep.curves[1].copies.links, *links_named("pcie5"));
    int copying = 0;
    for (const SweepPoint& point : sweep.curves[1].points) {
        if (point.peak.value <= 0) continue;
        session.show_point({"atlas", sweep.curves[1].copies, point});
        ASSERT_TRUE(session.schedule() && session.schedule()->ok());
        EXPECT_NEAR(session.schedule()->report.overhead, point.overhead, 1e-9);
        copying += session.schedule()->report.to_host.bytes.value > 0;
    }
    open(file);  // opens the file again; the sweep must be as before
    ASSERT_EQ(session.sweep.sweep().curves.size(), copying > 0 ? 2u : 1u)
        << "a plan with copies replaces none without";
    for (const SweepCurve& curve : session.sweep.sweep().curves) {
        if (curve.copies.what == Offload::none) continue;
        EXPECT_EQ(curve.copies.what, Offload::activations);
        EXPECT_EQ(curve.copies.links, *links_named("pcie5"));
    }
}

TEST_F(Windows, AClickOnAPointOfTheTradeOffShowsItsScheduleAndTheWheelZooms) {
    open(write_chain(folder, 8));
    Session& session = window->session();
    session.sweep.start(session.graph(), {"chen-greedy", "keep-all"}, 4, std::chrono::seconds(5));
    ASSERT_TRUE(eventually([&] { return !session.sweep.running(); }));
    process_events();
    auto* plot = child<SweepPlot>("sweep_plot");
    int shown = 0;
    for (int x = 0; x < plot->width(); x += 5) {
        for (int y = 0; y < plot->height(); y += 5) {
            const auto near = plot->nearest(QPointF(x, y));
            if (!near || std::hypot(near->at.x - x, near->at.y - y) > 4) continue;
            QTest::mouseClick(plot, Qt::LeftButton, {}, QPoint(x, y));
            ASSERT_TRUE(session.schedule());
            EXPECT_EQ(session.schedule()->report.peak,
                      session.sweep.sweep().curves[near->curve].points[near->point].peak);
            ++shown;
        }
    }
    EXPECT_GT(shown, 0);
    const SweepRange whole = plot->range();
    const QPoint at = plot->rect().center();
    QWheelEvent wheel(at, plot->mapToGlobal(at), {}, {0, 480}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(plot, &wheel);
    EXPECT_LT(plot->range().most - plot->range().least, whole.most - whole.least);
    QTest::mouseDClick(plot, Qt::LeftButton, {}, at);
    EXPECT_DOUBLE_EQ(plot->range().most, whole.most);
}

/// Returns the paths of the tree's blocks directly below the root block.
QStringList shown_blocks(BlockTreeModel& model) {
    QStringList paths;
    const QModelIndex root = model.index(0, 0);
    for (int row = 0; row < model.rowCount(root); ++row) paths << model.index(row, 0, root).data().toString();
    return paths;
}

TEST_F(Windows, ShowsTheBlocksOfThePartitionThatIsChosenInTheTreeAndInThePicture) {
    open(write_chain(folder, 12));
    Session& session = window->session();
    BlockTreeModel& tree = window->block_tree().model();
    const QStringList own = shown_blocks(tree);
    const auto choose = [&](const QString& title) {
        child<QComboBox>("partition")->setCurrentText(title);
        ASSERT_TRUE(eventually([&] { return idle(); }));
    };
    for (const auto& [title, partition] : {std::pair{"articulation points", Partition::articulation},
                                           {"bottom-up merging", Partition::bottom_up},
                                           {"repeats", Partition::repeats},
                                           {"modules", Partition::modules}}) {
        choose(title);
        const Graph& graph = session.graph()->graph;
        EXPECT_EQ(session.graph()->partition, partition);
        const auto blocks = decompose(graph, {.by = partition, .nest_sequences = true});
        ASSERT_EQ(graph.blocks.size(), blocks.size()) << title;
        for (BlockId id : blocks.ids()) EXPECT_EQ(graph.blocks[id].ops, blocks[id].ops) << title;
        EXPECT_EQ(static_cast<std::size_t>(tree.rowCount()), session.graph()->roots.size()) << title;
        ASSERT_TRUE(session.ladder.ladder()) << title;
        EXPECT_EQ(session.ladder.ladder()->graph, session.graph()) << title;
    }
    choose("bottom-up merging");
    EXPECT_NE(shown_blocks(tree), own);
    choose("the graph's own");
    EXPECT_EQ(shown_blocks(tree), own);
}

TEST_F(Windows, KeepsScheduleSelectionAndBudgetWhenTheBlocksChange) {
    open(write_chain(folder, 8));
    Session& session = window->session();
    session.set_schedule(prepare_schedule(session.graph(), keep_all_schedule(*session.graph())));
    session.budget.set_text("77%");
    session.selection.select(Selected::of(OpId(3)));
    const SchedulePtr before = session.schedule();
    session.set_partition(Partition::bottom_up);
    ASSERT_TRUE(eventually([&] { return idle(); }));
    ASSERT_TRUE(session.schedule());
    EXPECT_EQ(session.schedule()->graph, session.graph());
    EXPECT_EQ(session.schedule()->schedule.steps, before->schedule.steps);
    EXPECT_TRUE(session.schedule()->ok());
    EXPECT_EQ(session.ladder.schedule(), session.schedule());
    EXPECT_EQ(session.budget.text(), "77%");
    EXPECT_EQ(session.selection.current(), Selected::of(OpId(3)));
    session.selection.select(Selected::of(session.graph()->roots.front()));
    session.set_partition(std::nullopt);
    ASSERT_TRUE(eventually([&] { return idle(); }));
    EXPECT_TRUE(session.selection.current().empty()) << "a block of other blocks is none of these";
}

TEST_F(Windows, AScheduleThatWasSolvedBeforeTheBlocksChangedIsShownOnTheNewOnes) {
    open(write_chain(folder, 8));
    Session& session = window->session();
    const SchedulePtr old = prepare_schedule(session.graph(), keep_all_schedule(*session.graph()));
    session.set_partition(Partition::articulation);
    ASSERT_TRUE(eventually([&] { return idle(); }));
    session.set_schedule(old);
    ASSERT_TRUE(session.schedule());
    EXPECT_EQ(session.schedule()->graph, session.graph());
}

TEST_F(Windows, GraphsThatAreOpenedLaterAreShownInTheChosenBlocksToo) {
    open(write_chain(folder, 4));
    window->session().set_partition(Partition::articulation);
    open(write_chain(folder, 6, "longer"));
    EXPECT_EQ(QString::fromStdString(window->session().graph()->path.filename()), "longer.graph.json");
    EXPECT_EQ(window->session().graph()->partition, Partition::articulation);
    EXPECT_EQ(child<QComboBox>("partition")->currentText(), "articulation points");
}

TEST_F(Windows, CancellingWhileTheBlocksChangeLeavesTheOldOnesChosen) {
    open(write_chain(folder, 30));
    Session& session = window->session();
    const GraphPtr before = session.graph();
    session.set_partition(Partition::repeats);
    session.cancel_all();
    ASSERT_TRUE(eventually([&] { return idle(); }));
    EXPECT_EQ(session.graph(), before);
    EXPECT_EQ(session.partition(), std::nullopt);
    EXPECT_EQ(child<QComboBox>("partition")->currentIndex(), 0);
}

TEST_F(Windows, CanBeClosedDuringASolve) {
    open(write_chain(folder, 6));
    window->session().solver.set_solve_function(
        [](const LoadedGraph& graph, const SolveRequest& request, const Progress&) {
            while (!request.limits.stop.stop_requested()) QThread::msleep(1);
            Outcome outcome;
            outcome.answer = keep_all_schedule(graph);
            return Result<Outcome>(outcome);
        });
    window->solve_panel().solve();
    ASSERT_TRUE(window->session().solver.running());
    window->close();
    EXPECT_FALSE(window->session().solver.running());
    window.reset();
    process_events();
}

TEST_F(Windows, CanBeDestroyedDuringEveryKindOfJob) {
    const QString chain = write_chain(folder, 40);
    open(chain);
    Session& session = window->session();
    session.solve({.solver = "atlas", .budget = session.budget.budget()});
    session.sweep.start(session.graph(), {"atlas"}, 8, std::chrono::seconds(30));
    session.ladder.set_depth(session.ladder.full_depth());
    session.probe.start(session.graph());
    session.open({chain, chain});
    process_events();
    window.reset();
    process_events();
}

TEST_F(Windows, CancelEverythingEndsAllJobs) {
    open(write_chain(folder, 30));
    Session& session = window->session();
    session.solve({.solver = "atlas", .budget = Bytes(session.graph()->full_peak.value / 2)});
    session.sweep.start(session.graph(), {"atlas"}, 8, std::chrono::seconds(30));
    session.cancel_all();
    EXPECT_FALSE(session.busy());
}

TEST_F(Windows, RemembersRecentFilesAndTheLayout) {
    const QString chain = write_chain(folder, 4);
    open(chain);
    window->dock("tradeoff")->hide();
    window->close();
    window.reset();
    make_window();
    open(chain);
    EXPECT_EQ(settings->value("recent").toStringList().first(), QFileInfo(chain).absoluteFilePath());
    EXPECT_FALSE(window->dock("tradeoff")->isVisible());
    window->restore_default_layout();
    EXPECT_TRUE(window->dock("tradeoff")->isVisible());
}

TEST_F(Windows, EnterInTheSearchGoesFromMatchToMatch) {
    open(write_chain(folder, 4));
    auto* search = child<QLineEdit>("search");
    QTest::keyClicks(search, "aten::relu");
    EXPECT_EQ(child<QLabel>("match_count")->text(), "4 found");
    std::vector<OpId> visited;
    for (int i = 0; i < 5; ++i) {
        QTest::keyClick(search, Qt::Key_Return);
        visited.push_back(window->session().selection.current().op);
    }
    EXPECT_EQ(visited, (std::vector<OpId>{OpId(1), OpId(3), OpId(5), OpId(7), OpId(1)}));
    EXPECT_EQ(child<QLabel>("match_count")->text(), "1 of 4");
    ASSERT_TRUE(eventually([&] { return !window->session().ladder.running(); }));
}

TEST_F(Windows, TheFirstEnterGoesToTheFirstMatchAndNotToTheLastPartOfTheStep) {
    open(write_chain(folder, 4));
    auto* search = child<QLineEdit>("search");
    QTest::keyClicks(search, "aten::convolution");
    QTest::keyClick(search, Qt::Key_Return);
    EXPECT_EQ(window->session().selection.current().op, OpId(0));
    search->clear();
    EXPECT_TRUE(child<QLabel>("match_count")->text().isEmpty());
    QTest::keyClicks(search, "nowhere");
    QTest::keyClick(search, Qt::Key_Return);
    EXPECT_EQ(child<QLabel>("match_count")->text(), "0 found");
}

TEST_F(Windows, FitsTheScreenAndGetsAsSmallAs800By520) {
    EXPECT_LE(window->minimumSize().width(), 800);
    EXPECT_LE(window->minimumSize().height(), 520);
    MainWindow fresh(nullptr);
    const QSize room = fresh.screen()->availableSize();
    EXPECT_LE(fresh.width(), room.width());
    EXPECT_LE(fresh.height(), room.height());
}

TEST_F(Windows, NeighboursShareAPlaceWhereThereIsNoRoomForBoth) {
    open(write_chain(folder, 4));
    const auto share = [&](const char* one, const char* other) {
        return window->tabifiedDockWidgets(window->dock(one)).contains(window->dock(other));
    };
    const QStringList alone{"plans", "blocks", "solve", "tradeoff"};
    int round = 0;
    for (const bool narrow : {false, true, false}) {
        window->resize(narrow ? QSize(800, 520) : QSize(1600, 1000));
        process_events();
        SCOPED_TRACE(++round);
        EXPECT_EQ(share("plans", "blocks"), narrow);
        EXPECT_EQ(share("solve", "details"), narrow);
        EXPECT_EQ(share("schedule", "tradeoff"), narrow);
        EXPECT_EQ(share("solve", "alive"), narrow);
        EXPECT_TRUE(share("details", "alive"));
        for (const QString& name : window->dock_names()) {
            EXPECT_TRUE(window->dock(name)->isVisibleTo(window.get())) << name.toStdString();
            const bool shares = !window->tabifiedDockWidgets(window->dock(name)).isEmpty();
            EXPECT_EQ(shares, narrow || !alone.contains(name))
                << "MainWindow::arrange_docks gives each dock its place: " << name.toStdString();
        }
    }
}

/// No two items of a menu, or of the menu bar, may have the same Alt letter.
TEST_F(Windows, NoTwoItemsOfAMenuHaveTheSameLetter) {
    QList<QList<QAction*>> menus{window->menuBar()->actions()};
    for (const QMenu* menu : window->menuBar()->findChildren<QMenu*>()) menus << menu->actions();
    int letters = 0;
    for (const QList<QAction*>& actions : menus) {
        std::set<QChar> seen;
        for (const QAction* action : actions) {
            const int at = action->text().indexOf('&');
            if (at < 0) continue;
            const QChar letter = action->text().at(at + 1).toLower();
            EXPECT_TRUE(seen.insert(letter).second) << action->text().toStdString();
            ++letters;
        }
    }
    EXPECT_GT(letters, 20);
}

TEST_F(Windows, NoTwoActionsHaveTheSameKeys) {
    std::map<QString, QString> keys;
    for (const QAction* action : window->findChildren<QAction*>()) {
        if (action->shortcut().isEmpty() || action->shortcutContext() != Qt::WindowShortcut) continue;
        const auto [at, fresh] = keys.emplace(action->shortcut().toString(), action->text());
        EXPECT_TRUE(fresh) << at->first.toStdString() << ": " << at->second.toStdString() << ", "
                           << action->text().toStdString();
    }
    EXPECT_GT(keys.size(), 15u);
}

TEST_F(Windows, TheTableOfWhatIsInMemoryFollowsTheCursorAndFindsThePeak) {
    open(write_chain(folder, 5));
    Session& session = window->session();
    auto* view = window->findChild<AliveView*>();
    ASSERT_TRUE(view);
    const SchedulePtr& schedule = session.schedule();
    EXPECT_EQ(view->model().total(), schedule->simulation.peak) << "the peak, where nothing was pointed at";
    session.selection.set_cursor(0);
    EXPECT_EQ(view->model().total(), schedule->simulation.steps[0].during);
    EXPECT_FALSE(child<QLabel>("alive_headline")->text().startsWith("Peak"));
    const int tensors = view->model().rowCount();
    view->go_to_peak();
    EXPECT_EQ(session.selection.cursor(), static_cast<int>(schedule->simulation.peak_step));
    EXPECT_TRUE(child<QLabel>("alive_headline")->text().startsWith("Peak"));
    EXPECT_GT(view->model().rowCount(), tensors);
    std::int64_t sum = 0;
    int tensors_at_peak = 0, of_modules = 0;
    for (int row = 0; row < view->model().rowCount(); ++row)
        tensors_at_peak += view->model().tensor_at(row).valid();
    child<QToolButton>("alive_by_module")->setChecked(true);
    for (int row = 0; row < view->model().rowCount(); ++row) {
        sum += view->model().index(row, AliveModel::bytes).data(AliveModel::sort_role).toLongLong();
        const QString held = view->model().index(row, AliveModel::why).data().toString();
        of_modules += held.section(' ', 0, 0).toInt();
    }
    EXPECT_EQ(of_modules, tensors_at_peak) << "a workspace is no tensor of its module";
    EXPECT_EQ(Bytes(sum), view->model().total()) << "modules add up to the same";
    window->session().close();
    EXPECT_EQ(view->model().rowCount(), 0);
}

TEST_F(Windows, TheStripAnswersForACardForTheBudgetAndForWhatWasSolved) {
    open(write_chain(folder, 8));
    Session& session = window->session();
    auto* card = child<QComboBox>("card");
    const auto says = [&](const char* words) {
        return child<QLabel>("fit_headline")->text().contains(words);
    };
    card->setCurrentIndex(1);
    emit card->activated(1);
    EXPECT_TRUE(says("Fits")) << "a small chain on a large card";
    EXPECT_FALSE(child<QPushButton>("fit_action")->isVisible()) << "all kept is shown, and it fits";
    session.budget.set_text("4096");
    EXPECT_EQ(card->currentIndex(), 0) << "that is no card's memory";
    EXPECT_TRUE(says("Cannot fit"));
    session.budget.set_text("80%");
    ASSERT_TRUE(child<QPushButton>("fit_action")->isVisible());
    QTest::mouseClick(child<QPushButton>("fit_action"), Qt::LeftButton);
    ASSERT_TRUE(eventually([&] { return !session.solver.running(); }));
    EXPECT_TRUE(says("with plan A")) << child<QLabel>("fit_headline")->text().toStdString();
    EXPECT_FALSE(child<QPushButton>("fit_action")->isVisible()) << "it is shown";
    session.plans.go(-1);
    QTest::mouseClick(child<QPushButton>("fit_action"), Qt::LeftButton);
    EXPECT_EQ(session.plans.plan(session.plans.shown()).name, "A");
}

TEST_F(Windows, TheTradeOffOfAnEarlierSweepIsThereWhenTheGraphIsOpenedAgain) {
    const QString chain = write_chain(folder, 8);
    open(chain);
    window->session().sweep.start(window->session().graph(), {"chen-greedy", "dtr"}, 4,
                                  std::chrono::seconds(5));
    ASSERT_TRUE(eventually([&] { return idle(); }));
    const Sweep before = window->session().sweep.sweep();
    window.reset();
    make_window();
    open(chain);
    const Sweep& after = window->session().sweep.sweep();
    ASSERT_EQ(after.curves.size(), 2u);
    for (const SweepCurve& curve : after.curves) {
        const auto same = std::find_if(before.curves.begin(), before.curves.end(),
                                       [&](const SweepCurve& c) { return c.solver == curve.solver; });
        ASSERT_NE(same, before.curves.end());
        EXPECT_FALSE(curve.points.empty());
        for (const SweepPoint& point : curve.points)
            EXPECT_TRUE(std::any_of(same->points.begin(), same->points.end(), [&](const SweepPoint& p) {
                return p.peak == point.peak && p.overhead == point.overhead && p.steps == point.steps;
            }));
    }
}

TEST_F(Windows, WhereNothingCanBeKeptItAsksBeforeItClosesWithPlans) {
    const QString chain = write_chain(folder, 8);
    ASSERT_TRUE(QDir(folder.path()).mkdir("chain.session.jsonl"));  // a folder with the name of the journal,
                                                                    // which can then not be written
    open(chain);
    EXPECT_TRUE(window->close()) << "there is nothing to lose";
    window->show();
    window->session().budget.set_text("80%");
    window->solve_panel().solve();
    ASSERT_TRUE(eventually([&] { return idle() && window->session().plans.rowCount() == 2; }));
    const auto answer = [&](QMessageBox::StandardButton button) {
        QTimer::singleShot(100, window.get(), [button] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            ASSERT_NE(box, nullptr);
            QTest::mouseClick(box->button(button), Qt::LeftButton);
        });
    };
    answer(QMessageBox::Cancel);
    EXPECT_FALSE(window->close());
    EXPECT_TRUE(window->isVisible());
    answer(QMessageBox::Close);
    EXPECT_TRUE(window->close());
}

TEST_F(Windows, WhatWasFoundIsThereWhenTheGraphIsOpenedAgainAndOpeningLeavesNoFile) {
    const QString chain = write_chain(folder, 8);
    open(chain);
    const QString journal = folder.filePath("chain.session.jsonl");
    EXPECT_FALSE(QFileInfo::exists(journal)) << "who only looks leaves nothing";
    window->session().budget.set_text("80%");
    window->solve_panel().solve();
    ASSERT_TRUE(eventually([&] { return !window->session().solver.running(); }));
    window->session().plans.rename(1, "mine");
    const std::vector<Step> steps = window->session().schedule()->schedule.steps;
    window.reset();
    make_window();
    open(chain);
    PlanList& plans = window->session().plans;
    ASSERT_EQ(plans.rowCount(), 2);
    EXPECT_EQ(plans.plan(0).origin, PlanRow::Origin::all_kept);
    EXPECT_EQ(plans.plan(1).name, "mine");
    EXPECT_EQ(plans.shown(), 1) << "and what was shown is shown";
    EXPECT_EQ(window->session().schedule()->schedule.steps, steps);
}

TEST_F(Windows, ANoticeThatALayoutFailedCanBeClosed) {
    open(write_chain(folder, 6));
    window->session().ladder.set_layout_function(
        [](const LayoutRequest&, std::stop_token) -> Result<Layout> { return Error{.message = "no room"}; });
    window->session().ladder.set_depth(0);
    auto* notice = child<QWidget>("notice");
    ASSERT_TRUE(eventually([&] { return notice->isVisible(); }));
    QTest::mouseClick(child<QPushButton>("close_notice"), Qt::LeftButton);
    EXPECT_FALSE(notice->isVisible());
}

TEST_F(Windows, DroppedFilesAreOpened) {
    QMimeData mime;
    mime.setUrls({QUrl::fromLocalFile(write_chain(folder, 4))});
    QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(window.get(), &enter);
    EXPECT_TRUE(enter.isAccepted());
    QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(window.get(), &drop);
    EXPECT_TRUE(eventually([&] { return window->session().graph() != nullptr; }));
}

TEST_F(Windows, AScheduleOpensWithItsGraph) {
    const QString chain = write_chain(folder, 4);
    const QString schedule = folder.filePath("s.schedule.json");
    ASSERT_TRUE(write_schedule(keep_all_schedule(**load_graph(chain.toStdString())), schedule.toStdString()));
    open(schedule);
    ASSERT_TRUE(window->session().schedule());
    EXPECT_TRUE(window->session().schedule()->ok());
}

}  // namespace
}  // namespace rematlas::explorer
