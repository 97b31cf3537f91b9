// Adds entries that pin the selected block or op to a menu.
#pragma once

#include <QAbstractItemView>
#include <QMenu>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

/// Adds entries that pin the selection to keep or recompute, or remove its pin. Also adds entries that pin
/// the same part of all layers (`pattern_of_all_like`). Entries that are not possible are disabled. Adds
/// nothing if nothing is selected.
void add_pin_actions(QMenu& menu, Session& session);

/// Gives a list a context menu with the entries of `add_pin_actions`. A click on a row of the list must
/// select the block or op of the row.
void open_pin_menu_on(QAbstractItemView& list, Session& session);

}  // namespace rematlas::explorer
