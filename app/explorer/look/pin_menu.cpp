#include "app/explorer/look/pin_menu.h"

#include "app/explorer/words/wording.h"
#include "core/pins/pinned_ops.h"

namespace rematlas::explorer {
namespace {

void add_pin_action(QMenu& menu, Session& session, const QString& title, const Pin& pin) {
    QAction* action = menu.addAction(title, &session.pins, [&session, pin] { session.pins.set(pin); });
    action->setCheckable(true);
    action->setChecked(session.pins.decision(pin.pattern) == pin.kind);
    action->setEnabled(bool(ops_of_pin(session.graph()->graph, pin)));
}

}  // namespace

void add_pin_actions(QMenu& menu, Session& session) {
    if (!session.graph() || session.selection.current().empty()) return;
    const std::string one = pattern_of(*session.graph(), session.selection.current());
    const std::string all = pattern_of_all_like(*session.graph(), session.selection.current());
    if (one.empty()) return;
    menu.addSeparator();
    add_pin_action(menu, session, PinList::tr("Pin: always keep"), {one, PinKind::keep});
    add_pin_action(menu, session, PinList::tr("Pin: always recompute"), {one, PinKind::recompute});
    if (!all.empty()) {
        add_pin_action(menu, session, PinList::tr("Pin all like it: keep %1").arg(text(all)),
                       {all, PinKind::keep});
        add_pin_action(menu, session, PinList::tr("Pin all like it: recompute %1").arg(text(all)),
                       {all, PinKind::recompute});
    }
    QAction* none = menu.addAction(PinList::tr("No pin"), &session.pins, [&session, one, all] {
        session.pins.remove(one);
        session.pins.remove(all);
    });
    none->setEnabled(session.pins.decision(one) || session.pins.decision(all));
    menu.addSeparator();
}

void open_pin_menu_on(QAbstractItemView& list, Session& session) {
    list.setContextMenuPolicy(Qt::CustomContextMenu);
    QObject::connect(&list, &QWidget::customContextMenuRequested, &session,
                     [&list, &session](const QPoint& at) {
                         if (!list.indexAt(at).isValid()) return;
                         emit list.clicked(list.indexAt(at));
                         auto* menu = new QMenu(&list);
                         menu->setAttribute(Qt::WA_DeleteOnClose);
                         add_pin_actions(*menu, session);
                         if (menu->isEmpty())
                             delete menu;
                         else
                             menu->popup(list.viewport()->mapToGlobal(at));
                     });
}

}  // namespace rematlas::explorer
