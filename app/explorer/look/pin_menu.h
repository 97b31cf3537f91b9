// Menu entries that pin the selected block or op, for every menu that is opened on one.
#pragma once

#include <QAbstractItemView>
#include <QMenu>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

/// Adds entries for keep, recompute and no pin, and for keep and recompute of all blocks like the selected
/// one. Entries that are not possible are disabled. Adds nothing if nothing is selected.
void add_pin_actions(QMenu& menu, Session& session);

/// Gives a list a context menu with these entries. A click on a row of the list must select its block or op.
void open_pin_menu_on(QAbstractItemView& list, Session& session);

}  // namespace rematlas::explorer
