// The part of the main window that moves the focus from view to view by the keyboard.
#include <QApplication>
#include <QTreeView>

#include "app/explorer/docks/all_docks.h"
#include "app/explorer/window/main_window.h"

namespace rematlas::explorer {
namespace {

constexpr const char* graph_id = "graph";

/// Returns the widget that gets the focus when a user goes to the view: the view's picture or table, else its
/// list, else its first control.
QWidget* focus_target(QWidget& view) {
    auto* both = qobject_cast<PictureOrTable*>(&view);
    if (both && both->focusProxy()->isVisible()) return both->focusProxy();
    for (QTreeView* list : view.findChildren<QTreeView*>())
        if (list->isVisible() && list->isEnabled()) return list;
    if (view.focusPolicy() & Qt::TabFocus) return &view;
    for (QWidget* child : view.findChildren<QWidget*>())
        if ((child->focusPolicy() & Qt::TabFocus) && child->isVisible() && child->isEnabled()) return child;
    return &view;
}

}  // namespace

void MainWindow::make_go_menu(QMenu& menu) {
    const auto add = [&](const QString& title, const QString& id, const QKeySequence& key) {
        QAction* action = menu.addAction(title, this, [this, id] { go_to(id); });
        action->setShortcut(key);
        action->setProperty("command", tr("Go to %1").arg(title));
        needs_graph_ << action;
    };
    add(tr("Graph"), graph_id, QKeySequence("Alt+0"));
    for (const DockEntry& entry : all_docks())
        add(QCoreApplication::translate("Docks", entry.title), entry.id, QKeySequence(entry.shortcut));
    menu.addSeparator();
    needs_graph_ << menu.addAction(
        tr("Next view"), this, [this] { cycle(1); }, QKeySequence("F6"));
    needs_graph_ << menu.addAction(
        tr("View before"), this, [this] { cycle(-1); }, QKeySequence("Shift+F6"));
    menu.addSeparator();
    QAction* table = menu.addAction(tr("Picture or &table of this view"), this, [this] {
        if (auto* both = qobject_cast<PictureOrTable*>(view_with_focus()))
            both->show_table(!both->shows_table());
    });
    table->setObjectName("toggle_table");
    table->setShortcut(QKeySequence("Ctrl+T"));
    needs_graph_ << table;
}

void MainWindow::go_to(const QString& id) {
    QWidget* view = graph_or_table_;
    if (QDockWidget* dock = this->dock(id)) {
        dock->show();
        dock->raise();
        view = dock->widget();
    }
    focus_target(*view)->setFocus(Qt::ShortcutFocusReason);
}

QWidget* MainWindow::view_with_focus() const {
    const QWidget* focus = QApplication::focusWidget();
    const auto holds = [&](const QWidget* view) {
        return focus && (view == focus || view->isAncestorOf(focus));
    };
    if (holds(graph_or_table_)) return graph_or_table_;
    for (const auto& [id, dock] : docks_)
        if (holds(dock->widget())) return dock->widget();
    return nullptr;
}

/// Goes to the next view (+1) or the previous one (-1). Docks behind another tab are included. Closed docks
/// are left out.
void MainWindow::cycle(int direction) {
    std::vector<QString> ids{graph_id};
    for (const DockEntry& entry : all_docks())
        if (!docks_[entry.id]->isHidden()) ids.emplace_back(entry.id);
    const QWidget* now = view_with_focus();
    std::size_t at = 0;
    for (std::size_t i = 1; i < ids.size(); ++i)
        if (docks_[ids[i]]->widget() == now) at = i;
    const std::size_t next = now ? (at + ids.size() + static_cast<std::size_t>(direction)) % ids.size() : 0;
    go_to(ids[next]);
}

}  // namespace rematlas::explorer
