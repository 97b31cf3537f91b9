// The ladder graph that is shown: a view of blocks and ops with its layout.
#pragma once

#include <memory>

#include "app/explorer/loaded/loaded_schedule.h"
#include "viz/block_view/block_view.h"
#include "viz/layout/layout.h"

namespace rematlas::explorer {

/// A view of the graph with the places of its items. Never changed after it is built, because the painting
/// code shares it. Sizes are in points at zoom 1.
struct Ladder {
    GraphPtr graph;
    SchedulePtr schedule;  ///< the schedule whose decisions are in the view; may be null
    ExpandedBlocks expanded;
    int depth = 1;  ///< level to which blocks were expanded, before the user expanded or collapsed single
                    ///< blocks
    BlockView view;
    Layout layout;
    IdVector<OpId, int> item_of;        ///< for each op, the item that shows the op or a collapsed block
                                        ///< around it
    IdVector<BlockId, int> cluster_of;  ///< for each block, its frame; -1 if the block is not expanded
};
using LadderPtr = std::shared_ptr<const Ladder>;

/// Returns the op, block or row of blocks that a click on the item selects.
inline Selected selected_of(const BlockViewItem& item) {
    if (item.op.valid()) return Selected::of(item.op);
    return item.run.empty() ? Selected::of(item.block) : Selected::of_run(item.run);
}

}  // namespace rematlas::explorer
