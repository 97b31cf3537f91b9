// Makes the commands of the palette and the list of shortcuts from the window's actions.
#include <QDockWidget>
#include <QMenuBar>
#include <map>

#include "app/explorer/look/view_keys.h"
#include "app/explorer/window/about.h"
#include "app/explorer/window/command_palette.h"
#include "app/explorer/window/main_window.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

/// Returns a menu title without its mnemonic mark (&) and without dots at its end.
QString plain(QString title) {
    title.remove('&');
    while (title.endsWith('.') || title.endsWith(QChar(0x2026))) title.chop(1);
    return title;
}

template <class Visit>
void visit_actions(const QMenu& menu, const QString& place, Visit visit) {
    for (QAction* action : menu.actions()) {
        if (action->isSeparator()) continue;
        if (QMenu* inner = action->menu()) {
            emit inner->aboutToShow();  // some menus are only filled when they are about to be shown
            visit_actions(*inner, place + " > " + plain(action->text()), visit);
        } else {
            visit(*action, place);
        }
    }
}

template <class Visit>
void visit_menus(const QMenuBar& bar, Visit visit) {
    for (const QAction* action : bar.actions())
        if (action->menu()) visit_actions(*action->menu(), plain(action->text()), visit);
}

QString keys_text(const QList<QKeySequence>& keys) {
    QStringList texts;
    for (const QKeySequence& key : keys) texts << key.toString(QKeySequence::NativeText);
    texts.removeDuplicates();
    return texts.join(QStringLiteral(", "));
}

}  // namespace

void MainWindow::show_commands() {
    std::map<const QAction*, QString> panels;
    for (const auto& [id, dock] : docks_) panels[dock->toggleViewAction()] = dock->windowTitle();
    // A command that shows a panel has a verb in its name: the panel's name alone, such as "Solve", would
    // sound like an action in the panel.
    const auto name_of = [&](const QAction& action) {
        const auto panel = panels.find(&action);
        if (const QVariant name = action.property("command"); name.isValid()) return name.toString();
        if (panel == panels.end()) return plain(action.text());
        return (action.isChecked() ? tr("Hide the panel: %1") : tr("Show the panel: %1")).arg(panel->second);
    };
    std::vector<Command> commands;
    visit_menus(*menuBar(), [&](QAction& action, const QString& place) {
        if (!action.isEnabled() || !action.isVisible()) return;
        const QString keys = keys_text(action.shortcuts());
        commands.push_back({name_of(action), keys.isEmpty() ? place : place + "   " + keys,
                            [&action] { action.trigger(); }});
    });
    const PlanList& plans = session_.plans;
    for (int row = 0; row < plans.rowCount(); ++row) {
        const PlanRow& plan = plans.plan(row);
        commands.push_back(
            {tr("Plan %1").arg(plan.name),
             tr("%1, %2 time").arg(bytes_text(plan.schedule->peak), overhead_text(plan.schedule->overhead)),
             [this, key = plan.key] { session_.choose_plan(session_.plans.row_of(key)); }});
    }
    if (const GraphPtr& graph = session_.graph())
        for (const BlockId block : graph->graph.blocks.ids()) {
            const std::string& path = graph->graph.blocks[block].path;
            commands.push_back({path.empty() ? block_name(*graph, block) : text(path),
                                tr("Block, %1").arg(phase_text(graph->facts[block].phase)),
                                [this, block, graph] {
                                    if (session_.graph() != graph) return;
                                    session_.selection.select(Selected::of(block));
                                    session_.selection.reveal(Selected::of(block));
                                }});
        }
    (new CommandPalette(std::move(commands), this))->show();
}

std::vector<ShortcutGroup> MainWindow::shortcuts() const {
    std::vector<ShortcutGroup> groups;
    visit_menus(*menuBar(), [&](const QAction& action, const QString& place) {
        if (action.shortcuts().isEmpty()) return;
        const QString menu = place.section(" > ", 0, 0);
        if (groups.empty() || groups.back().title != menu) groups.push_back({menu, {}});
        groups.back().rows.emplace_back(keys_text(action.shortcuts()), plain(action.text()));
    });
    for (const ViewKeys* view : findChildren<ViewKeys*>()) {
        groups.push_back({tr("In: %1").arg(view->title()), {}});
        for (const ViewKeys::Entry& entry : view->entries())
            groups.back().rows.emplace_back(entry.keys.isEmpty() ? entry.gesture : keys_text(entry.keys),
                                            entry.what);
    }
    return groups;
}

}  // namespace rematlas::explorer
