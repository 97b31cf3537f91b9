// Texts about an item or an arrow of the ladder, shown while the pointer rests on it.
#pragma once

#include <QString>

#include "viz/block_view/block_view.h"

namespace rematlas::explorer {

QString item_tip(const Graph& graph, const BlockViewItem& item);
QString edge_tip(const BlockView& view, const BlockViewEdge& edge, bool with_schedule);

}  // namespace rematlas::explorer
