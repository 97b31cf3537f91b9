// Tests the window for users who have no mouse or cannot see the screen: accessible names, keys, tables, the
// command palette, messages.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAccessible>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QListWidget>
#include <QMenuBar>
#include <QScrollBar>
#include <QTest>
#include <QTreeWidget>
#include <set>

#include "app/explorer/docks/flame_view.h"
#include "app/explorer/docks/lifetimes_picture.h"
#include "app/explorer/docks/sweep_plot.h"
#include "app/explorer/look/picture_or_table.h"
#include "app/explorer/look/view_keys.h"
#include "app/explorer/models/steps_table.h"
#include "app/explorer/window/message_bar.h"
#include "app/explorer/words/fuzzy.h"
#include "app/explorer/words/wording.h"
#include "tests/app/explorer/table_column.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

class Access : public Windows {
  protected:
    void SetUp() override {
        make_window();
        open(write_chain(folder, 6));
        session().set_schedule(session().all_kept());
    }
    Session& session() { return window->session(); }
    void sweep() {
        session().sweep.start(session().graph(), {"chen-greedy", "dtr"}, 4, std::chrono::seconds(5));
        ASSERT_TRUE(eventually([&] { return !session().sweep.running(); }));
        process_events();
    }
    PictureOrTable* twin_of(const QWidget* inside) {
        for (QWidget* up = const_cast<QWidget*>(inside); up; up = up->parentWidget())
            if (auto* both = qobject_cast<PictureOrTable*>(up)) return both;
        return nullptr;
    }
    void run_command(const QString& typed) {
        menu_action("Find a command")->trigger();
        auto* field = child<QLineEdit>("command_field");
        ASSERT_NE(field, nullptr);
        QTest::keyClicks(field, typed);
        QTest::keyClick(field, Qt::Key_Return);
        process_events();
    }
    QAction* menu_action(const QString& title) {
        for (QAction* action : window->findChildren<QAction*>())
            if (action->text().remove('&') == title) return action;
        return nullptr;
    }
};

/// Returns the name that a screen reader says for the widget.
QString spoken(QWidget* widget) {
    QAccessibleInterface* face = QAccessible::queryAccessibleInterface(widget);
    return face ? face->text(QAccessible::Name) : QString();
}

TEST_F(Access, EveryControlHasAName) {
    QStringList without;
    for (QWidget* widget : window->findChildren<QWidget*>()) {
        const bool control = qobject_cast<QAbstractButton*>(widget) || qobject_cast<QLineEdit*>(widget) ||
                             qobject_cast<QComboBox*>(widget) || qobject_cast<QAbstractSpinBox*>(widget) ||
                             qobject_cast<QAbstractItemView*>(widget) ||
                             qobject_cast<QAbstractSlider*>(widget);
        const QWidget* parent = widget->parentWidget();
        // For a part that Qt makes, screen readers say the name of the control that contains the part. So
        // such parts need no names.
        const bool part = widget->objectName().startsWith("qt_") || qobject_cast<const QComboBox*>(parent) ||
                          qobject_cast<const QAbstractSpinBox*>(parent) ||
                          qobject_cast<const QLineEdit*>(parent) || qobject_cast<QScrollBar*>(widget) ||
                          qobject_cast<QHeaderView*>(widget) ||
                          (parent && parent->inherits("QComboBoxPrivateContainer")) ||
                          widget->inherits("QDockWidgetTitleButton");
        if (control && !part && spoken(widget).isEmpty())
            without << QString("%1 %2 in %3")
                           .arg(widget->metaObject()->className(), widget->objectName(),
                                parent ? parent->metaObject()->className() : "");
    }
    EXPECT_TRUE(without.isEmpty()) << without.join("\n").toStdString();
}

TEST_F(Access, EveryPaintedViewSaysWhatIsSelectedInIt) {
    QWidget* views[] = {&window->lanes(), &window->graph_view(), child<SweepPlot>("sweep_plot"),
                        child<FlameView>("flame_view"), child<LifetimesPicture>("lifetimes_picture")};
    for (QWidget* view : views) {
        EXPECT_FALSE(view->accessibleName().isEmpty()) << view->metaObject()->className();
        EXPECT_FALSE(view->accessibleDescription().isEmpty()) << view->metaObject()->className();
        EXPECT_NE(view->focusPolicy() & Qt::TabFocus, 0) << view->metaObject()->className();
        ASSERT_NE(twin_of(view), nullptr) << "it has a table beside it";
    }
    session().selection.select(Selected::of(OpId(3)));
    const QString name = numbered_op(*session().graph(), OpId(3));
    EXPECT_TRUE(window->lanes().accessibleDescription().contains(name));
    EXPECT_TRUE(child<FlameView>("flame_view")->accessibleDescription().contains(name));
    EXPECT_NE(window->graph_view().accessibleDescription(), QString());
    session().selection.clear();
    EXPECT_FALSE(window->lanes().accessibleDescription().contains(name));
}

TEST_F(Access, ThePictureOfTheScheduleIsATableToo) {
    PictureOrTable* both = twin_of(&window->lanes());
    EXPECT_TRUE(window->lanes().isVisible());
    both->show_table(true);
    EXPECT_FALSE(window->lanes().isVisible());
    ASSERT_TRUE(both->table().isVisible());
    EXPECT_EQ(both->table().model()->rowCount(),
              static_cast<int>(session().schedule()->schedule.steps.size()));
    both->table().setCurrentIndex(both->table().model()->index(4, 0));
    EXPECT_EQ(session().selection.cursor(), 4) << "a chosen row moves the cursor of all views";
    both->table().sortByColumn(column_of(*both->table().model(), "Held during"), Qt::DescendingOrder);
    const int heaviest = both->table().model()->index(0, 0).data().toInt();
    EXPECT_EQ(session().schedule()->simulation.steps[static_cast<std::size_t>(heaviest)].during,
              session().schedule()->simulation.peak);
    session().selection.set_cursor(0);
    EXPECT_EQ(both->table().currentIndex().siblingAtColumn(0).data().toInt(), 0) << "and follows it";
    both->copy();
    const QStringList lines = QGuiApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts);
    EXPECT_EQ(lines.size(), 2) << "the titles and the row that is selected";
}

TEST_F(Access, ThePointsOfASweepAreWalkedAndShownByKeys) {
    sweep();
    auto* plot = child<SweepPlot>("sweep_plot");
    std::set<QString> told;
    QTest::keyClick(plot, Qt::Key_Right);
    for (int i = 0; i < 4; ++i) {
        told.insert(plot->accessibleDescription());
        QTest::keyClick(plot, Qt::Key_Right);
    }
    EXPECT_GT(told.size(), 1u) << "each point is described";
    const QString first_curve = plot->accessibleDescription();
    QTest::keyClick(plot, Qt::Key_Down);
    EXPECT_NE(plot->accessibleDescription(), first_curve) << "down is another solver";
    const int plans = session().plans.shown();
    session().set_schedule(session().all_kept());
    QTest::keyClick(plot, Qt::Key_Return);
    ASSERT_TRUE(session().schedule());
    EXPECT_TRUE(session().plans.shown() != plans ||
                session().plans.plan(plans).origin != PlanRow::Origin::all_kept);
}

TEST_F(Access, TheTableOfASweepShowsThePlanOfARow) {
    sweep();
    PictureOrTable* both = twin_of(child<SweepPlot>("sweep_plot"));
    both->show_table(true);
    const QAbstractItemModel& rows = *both->table().model();
    int row = 0;
    while (row < rows.rowCount() && rows.index(row, 3).data().toString().isEmpty()) ++row;
    ASSERT_LT(row, rows.rowCount());
    emit both->table().activated(rows.index(row, 0));
    EXPECT_EQ(bytes_text(session().schedule()->report.peak), rows.index(row, 3).data().toString());
}

TEST_F(Access, ArrowsMoveTheCursorAndThePartThatIsShownFollows) {
    LanesView& lanes = window->lanes();
    for (int i = 0; i < 6; ++i) QTest::keyClick(&lanes, Qt::Key_Plus);
    const double from = lanes.from();
    EXPECT_LT(lanes.to() - from, lanes.data().length / 2);
    for (int i = 0; i < 200; ++i) QTest::keyClick(&lanes, Qt::Key_Right);
    EXPECT_EQ(session().selection.current(),
              Selected::of(OpId(static_cast<int>(session().graph()->graph.ops.size()) - 1)));
    EXPECT_GT(lanes.from(), from);
    QTest::keyClick(&lanes, Qt::Key_Home);
    EXPECT_DOUBLE_EQ(lanes.to() - lanes.from(), lanes.data().length);
}

TEST_F(Access, EachViewIsReachedByAltAndANumberAndAllByF6) {
    std::set<QWidget*> reached;
    const auto focus = [] { return QApplication::focusWidget(); };
    for (const char* title : {"Graph", "Solve", "Plans", "Blocks", "Details", "Schedule", "In memory"}) {
        QAction* go = nullptr;
        for (QAction* action : window->findChildren<QAction*>())
            if (action->text() == title && action->shortcut().toString().startsWith("Alt+")) go = action;
        ASSERT_NE(go, nullptr) << title;
        go->trigger();
        ASSERT_NE(focus(), nullptr) << title;
        EXPECT_TRUE(reached.insert(focus()).second) << title << " has a place of its own";
    }
    const auto dock_with_focus = [&]() -> QString {
        for (const QString& name : window->dock_names())
            if (window->dock(name)->isAncestorOf(focus())) return name;
        return "graph";
    };
    std::set<QString> cycled;
    for (int i = 0; i < window->dock_names().size() + 1; ++i) {
        menu_action("Next view")->trigger();
        cycled.insert(dock_with_focus());
    }
    EXPECT_EQ(static_cast<int>(cycled.size()), window->dock_names().size() + 1);
    menu_action("Graph")->trigger();
    menu_action("Picture or table of this view")->trigger();
    EXPECT_TRUE(twin_of(&window->graph_view())->shows_table());
}

TEST_F(Access, NoTwoActionsHaveOneShortcut) {
    std::multiset<QString> keys;
    for (const QAction* action : window->findChildren<QAction*>())
        for (const QKeySequence& key : action->shortcuts())
            if (action->shortcutContext() == Qt::WindowShortcut) keys.insert(key.toString());
    for (const QString& key : keys) EXPECT_EQ(keys.count(key), 1u) << key.toStdString();
}

TEST_F(Access, TheListOfShortcutsHasThemAll) {
    menu_action("Keyboard shortcuts")->trigger();
    auto* list = child<QTreeWidget>("shortcut_list");
    ASSERT_NE(list, nullptr);
    QString all;
    for (int i = 0; i < list->topLevelItemCount(); ++i)
        for (int j = 0; j < list->topLevelItem(i)->childCount(); ++j)
            all += list->topLevelItem(i)->child(j)->text(0) + '|' + list->topLevelItem(i)->child(j)->text(1) +
                   '\n';
    int actions = 0;
    for (const QAction* menu : window->menuBar()->actions())
        for (const QAction* action : menu->menu()->actions()) {
            if (action->shortcut().isEmpty()) continue;
            ++actions;
            EXPECT_TRUE(all.contains(action->shortcut().toString(QKeySequence::NativeText)))
                << action->text().toStdString();
        }
    EXPECT_GT(actions, 10);
    for (const ViewKeys* view : window->findChildren<ViewKeys*>())
        for (const ViewKeys::Entry& entry : view->entries())
            EXPECT_TRUE(all.contains(entry.what + '|')) << entry.what.toStdString();
}

TEST_F(Access, TheCommandPaletteRunsActionsAndGoesToBlocksAndPlans) {
    const int depth = session().ladder.depth();
    run_command("one lev less");
    EXPECT_EQ(session().ladder.depth(), depth - 1);
    ASSERT_TRUE(eventually([&] { return idle() && !session().ladder.running(); }));
    const BlockId block = session().graph()->block_of[OpId(2)];
    run_command(text(session().graph()->graph.blocks[block].path));
    EXPECT_EQ(session().selection.current(), Selected::of(block));
    session().solve({.solver = "chen-greedy",
                     .budget = Bytes(session().graph()->full_peak.value * 8 / 10),
                     .limits = {}});
    ASSERT_TRUE(eventually([&] { return !session().solver.running(); }));
    ASSERT_NE(session().plans.plan(session().plans.shown()).origin, PlanRow::Origin::all_kept);
    run_command("plan all kept");
    EXPECT_EQ(session().plans.plan(session().plans.shown()).origin, PlanRow::Origin::all_kept);
}

TEST(FuzzyScore, FindsLettersInOrderAndPrefersWordStarts) {
    EXPECT_EQ(fuzzy_score("xyz", "Fit the width"), 0);
    EXPECT_EQ(fuzzy_score("wf", "Fit the width"), 0) << "the order counts";
    EXPECT_GT(fuzzy_score("fw", "Fit the width"), 0);
    EXPECT_GT(fuzzy_score("width fit", "Fit the width"), 0) << "words may come in any order";
    EXPECT_GT(fuzzy_score("fw", "Fit the width"), fuzzy_score("fw", "Offer wood of few"));
    EXPECT_GT(fuzzy_score("attn", "blocks.0.attn"), fuzzy_score("attn", "alter the thin one"));
    EXPECT_EQ(fuzzy_score("ATTN", "blocks.0.attn"), fuzzy_score("attn", "blocks.0.attn"));
}

TEST_F(Access, AnErrorStaysInABarUntilItIsDismissed) {
    auto* bar = child<MessageBar>("message_bar");
    EXPECT_FALSE(bar->isVisible());
    open(folder.filePath("absent.graph.json"));
    ASSERT_TRUE(bar->isVisible());
    EXPECT_TRUE(child<QLabel>("message")->text().contains("absent.graph.json"));
    EXPECT_TRUE(child<QPushButton>("message_remedy")->isVisible()) << "there is something to do about it";
    QTest::mouseClick(child<QToolButton>("dismiss_message"), Qt::LeftButton);
    EXPECT_FALSE(bar->isVisible());
    open(folder.filePath("gone.graph.json"));
    ASSERT_EQ(bar->history().size(), 2u) << "earlier ones can be read again";
    EXPECT_TRUE(bar->history()[0].message.contains("absent.graph.json"));
}

TEST(MessageBar, TheRemedyActsOnceAndDismisses) {
    MessageBar bar;
    int acted = 0;
    bar.show_message(MessageBar::About::opening, "broken", "Mend", [&] { ++acted; });
    QTest::mouseClick(bar.findChild<QPushButton*>("message_remedy"), Qt::LeftButton);
    EXPECT_EQ(acted, 1);
    EXPECT_FALSE(bar.isVisible());
    bar.show_message(MessageBar::About::opening, "worse");
    EXPECT_FALSE(bar.findChild<QPushButton*>("message_remedy")->isVisible());
}

}  // namespace
}  // namespace rematlas::explorer
