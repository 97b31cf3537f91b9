#include "app/explorer/docks/all_docks.h"

#include <QCoreApplication>

#include "app/explorer/docks/alive_view.h"
#include "app/explorer/docks/block_tree_view.h"
#include "app/explorer/docks/compare_view.h"
#include "app/explorer/docks/details_panel.h"
#include "app/explorer/docks/flame_panel.h"
#include "app/explorer/docks/lifetimes_view.h"
#include "app/explorer/docks/plans_view.h"
#include "app/explorer/docks/schedule_panel.h"
#include "app/explorer/docks/solve_panel.h"
#include "app/explorer/docks/tables.h"
#include "app/explorer/docks/tradeoff_view.h"
#include "app/explorer/docks/why_panel.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {
namespace {

template <class Dock>
QWidget* made(Session& session) {
    return new Dock(session);
}

template <class Dock, class React>
QAction* added(QMenu& menu, const char* title, const char* shortcut, Dock& dock, React react) {
    return menu.addAction(QCoreApplication::translate("Docks", title), &dock, react, QKeySequence(shortcut));
}

QList<QAction*> add_solve_actions(QWidget& dock, QMenu& menu) {
    auto& panel = static_cast<SolvePanel&>(dock);
    return {added(menu, QT_TRANSLATE_NOOP("Docks", "&Solve"), "Ctrl+Return", panel, &SolvePanel::solve),
            added(menu, QT_TRANSLATE_NOOP("Docks", "Edit the &budget"), "Ctrl+B", panel,
                  &SolvePanel::focus_budget)};
}

QList<QAction*> add_tradeoff_actions(QWidget& dock, QMenu& menu) {
    auto& view = static_cast<TradeoffView&>(dock);
    QAction* sweep = added(menu, QT_TRANSLATE_NOOP("Docks", "S&weep budgets"), "Ctrl+Shift+Return", view,
                           &TradeoffView::start_sweep);
    sweep->setIcon(theme::icon("sweep"));
    return {sweep};
}

QList<QAction*> add_alive_actions(QWidget& dock, QMenu& menu) {
    auto& view = static_cast<AliveView&>(dock);
    return {
        added(menu, QT_TRANSLATE_NOOP("Docks", "&Go to the peak"), "Ctrl+P", view, &AliveView::go_to_peak)};
}

QList<QAction*> add_plans_actions(QWidget& dock, QMenu& menu) {
    static_cast<PlansView&>(dock).add_actions_to(menu);
    return {};
}

QList<QAction*> add_why_actions(QWidget& dock, QMenu& menu) {
    auto& panel = static_cast<WhyPanel&>(dock);
    return {added(menu, QT_TRANSLATE_NOOP("Docks", "Pin: &keep"), "Ctrl+Shift+K", panel,
                  [&panel] { panel.pin(PinKind::keep); }),
            added(menu, QT_TRANSLATE_NOOP("Docks", "Pin: recom&pute"), "Ctrl+Shift+R", panel,
                  [&panel] { panel.pin(PinKind::recompute); }),
            added(menu, QT_TRANSLATE_NOOP("Docks", "N&o pin"), "Ctrl+Shift+U", panel, &WhyPanel::unpin)};
}

constexpr DockEntry kDocks[] = {
    {.id = "solve",
     .title = QT_TRANSLATE_NOOP("Docks", "Solve"),
     .tip = QT_TRANSLATE_NOOP("Docks", "Budget, solver and answer"),
     .shortcut = "Alt+1",
     .area = Qt::RightDockWidgetArea,
     .make = made<SolvePanel>,
     .add_actions = add_solve_actions},
    {.id = "tradeoff",
     .title = QT_TRANSLATE_NOOP("Docks", "Trade-off"),
     .tip = QT_TRANSLATE_NOOP("Docks", "Time against memory over many budgets"),
     .shortcut = "Alt+2",
     .area = Qt::BottomDockWidgetArea,
     .make = made<TradeoffView>,
     .with_table = with_sweep_table,
     .add_actions = add_tradeoff_actions},
    {.id = "plans",
     .title = QT_TRANSLATE_NOOP("Docks", "Plans"),
     .tip = QT_TRANSLATE_NOOP("Docks", "Every schedule that was found or opened"),
     .shortcut = "Alt+3",
     .area = Qt::LeftDockWidgetArea,
     .make = made<PlansView>,
     .add_actions = add_plans_actions},
    {.id = "blocks",
     .title = QT_TRANSLATE_NOOP("Docks", "Blocks"),
     .tip = QT_TRANSLATE_NOOP("Docks", "The hierarchy of the step"),
     .shortcut = "Alt+4",
     .area = Qt::LeftDockWidgetArea,
     .make = made<BlockTreeView>},
    {.id = "details",
     .title = QT_TRANSLATE_NOOP("Docks", "Details"),
     .tip = QT_TRANSLATE_NOOP("Docks", "Facts about the selection"),
     .shortcut = "Alt+5",
     .area = Qt::RightDockWidgetArea,
     .make = made<DetailsPanel>},
    {.id = "schedule",
     .title = QT_TRANSLATE_NOOP("Docks", "Schedule"),
     .tip = QT_TRANSLATE_NOOP("Docks", "What runs when, and the memory held"),
     .shortcut = "Alt+6",
     .area = Qt::BottomDockWidgetArea,
     .make = made<SchedulePanel>,
     .with_table = with_steps_table},
    {.id = "alive",
     .title = QT_TRANSLATE_NOOP("Docks", "In memory"),
     .tip = QT_TRANSLATE_NOOP("Docks", "What is held at the cursor, and why"),
     .shortcut = "Alt+7",
     .area = Qt::RightDockWidgetArea,
     .make = made<AliveView>,
     .add_actions = add_alive_actions},
    {.id = "compare",
     .title = QT_TRANSLATE_NOOP("Docks", "Compare"),
     .tip = QT_TRANSLATE_NOOP("Docks", "Two plans side by side, and what they do differently"),
     .shortcut = "Alt+8",
     .area = Qt::BottomDockWidgetArea,
     .make = made<CompareView>},
    {.id = "why",
     .title = QT_TRANSLATE_NOOP("Docks", "Why"),
     .tip = QT_TRANSLATE_NOOP("Docks", "What a decision costs, what the other one would, and pins"),
     .shortcut = "Alt+9",
     .area = Qt::RightDockWidgetArea,
     .make = made<WhyPanel>,
     .add_actions = add_why_actions},
    {.id = "flame",
     .title = QT_TRANSLATE_NOOP("Docks", "Flame chart"),
     .tip = QT_TRANSLATE_NOOP("Docks", "The ops of the step over time, by module"),
     .shortcut = "Alt+Shift+F",
     .area = Qt::BottomDockWidgetArea,
     .make = made<FlamePanel>,
     .with_table = with_flame_table},
    {.id = "lifetimes",
     .title = QT_TRANSLATE_NOOP("Docks", "Lifetimes"),
     .tip = QT_TRANSLATE_NOOP("Docks", "What is held at the cursor, from its making to its end"),
     .shortcut = "Alt+Shift+L",
     .area = Qt::BottomDockWidgetArea,
     .make = made<LifetimesView>,
     .with_table = with_lifetimes_table},
};

}  // namespace

std::span<const DockEntry> all_docks() {
    return kDocks;
}

}  // namespace rematlas::explorer
