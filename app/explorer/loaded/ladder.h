// The ladder graph that is shown.
#pragma once

#include <memory>

#include "app/explorer/loaded/loaded_schedule.h"
#include "viz/block_view/block_view.h"
#include "viz/layout/layout.h"

namespace rematlas::explorer {

/// A view and the places of its items. Never changed once built: the painting code shares it. Sizes are
/// points at zoom 1.
struct Ladder {
    GraphPtr graph;
    SchedulePtr schedule;  ///< the schedule whose decisions are in the view; null: none
    ExpandedBlocks expanded;
    int depth = 1;  ///< levels that were expanded before single blocks were expanded
    BlockView view;
    Layout layout;
    IdVector<OpId, int> item_of;        ///< the item that shows the op, itself or within a collapsed block
    IdVector<BlockId, int> cluster_of;  ///< -1 for blocks that are not expanded
};
using LadderPtr = std::shared_ptr<const Ladder>;

/// Returns the selection that a click on the item makes.
inline Selected selected_of(const BlockViewItem& item) {
    if (item.op.valid()) return Selected::of(item.op);
    return item.run.empty() ? Selected::of(item.block) : Selected::of_run(item.run);
}

}  // namespace rematlas::explorer
