// Adds entries to a menu. The entries pin the selected block or op.
#pragma once

#include <QAbstractItemView>
#include <QMenu>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

/// Adds entries to `menu`. Some pin the selected block or op to "keep" or to "recompute", or remove its pin.
/// Others pin the same part of all layers (`pattern_of_all_like`). Entries that are not possible are
/// disabled. Adds nothing if nothing is selected.
void add_pin_actions(QMenu& menu, Session& session);

/// Gives a list a context menu with the entries of `add_pin_actions`. A click on a row of the list must
/// select the block or op of the row.
void open_pin_menu_on(QAbstractItemView& list, Session& session);

}  // namespace rematlas::explorer
