// A ladder graph as it is shown.
#pragma once

#include <memory>

#include "app/explorer/loaded/loaded_schedule.h"
#include "viz/block_view/block_view.h"
#include "viz/layout/layout.h"

namespace rematlas::explorer {

/// A view and where its items lie; a value shared with the painting. Sizes are points at zoom 1.
struct Ladder {
    GraphPtr graph;
    SchedulePtr schedule;  ///< whose decisions the view has; null: none
    ExpandedBlocks expanded;
    int depth = 1;  ///< levels that were expanded before single blocks were
    BlockView view;
    Layout layout;
    IdVector<OpId, int> item_of;        ///< the item that shows the op, itself or within a collapsed block
    IdVector<BlockId, int> cluster_of;  ///< -1 for blocks that are not expanded
};
using LadderPtr = std::shared_ptr<const Ladder>;

/// What an item stands for when it is selected.
inline Selected selected_of(const BlockViewItem& item) {
    if (item.op.valid()) return Selected::of(item.op);
    return item.run.empty() ? Selected::of(item.block) : Selected::of_run(item.run);
}

}  // namespace rematlas::explorer
