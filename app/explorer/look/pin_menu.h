// The entries that pin what is selected, for every menu that is opened on a block or an op.
#pragma once

#include <QAbstractItemView>
#include <QMenu>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

/// Keep, recompute and no pin, and the same for all layers like it; those that cannot be are grey. Nothing where
/// nothing is selected.
void add_pin_actions(QMenu& menu, Session& session);

/// A menu of these entries on a list whose rows are selected by a click.
void open_pin_menu_on(QAbstractItemView& list, Session& session);

}  // namespace rematlas::explorer
