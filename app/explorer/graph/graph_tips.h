// Makes the tooltips of the ladder's items and arrows.
#pragma once

#include <QString>

#include "viz/block_view/block_view.h"

namespace rematlas::explorer {

QString item_tip(const Graph& graph, const BlockViewItem& item);
QString edge_tip(const BlockView& view, const BlockViewEdge& edge, bool with_schedule);

}  // namespace rematlas::explorer
