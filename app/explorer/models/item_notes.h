// What is said of the items of the ladder graph beside their colours: which are pinned, and which do not run
// in the part of the schedule that is looked at.
#pragma once

#include <vector>

#include "app/explorer/jobs/ladder_controller.h"
#include "core/schedule/pin.h"
#include "viz/paint/blocks_painter.h"

namespace rematlas::explorer {

/// One an item of the ladder. Without a schedule, or for the whole of it, nothing is aside. Pins that do not
/// fit the graph mark nothing. Cost: linear in the ops, and in the steps of the range.
std::vector<ItemNote> item_notes(const Ladder& ladder, const LoadedSchedule* schedule, const StepRange& range,
                                 const Pins& pins);

}  // namespace rematlas::explorer
