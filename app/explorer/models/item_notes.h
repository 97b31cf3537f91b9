// Makes notes on the items of the ladder graph: which items are pinned, and which do not run in the shown
// part of the schedule.
#pragma once

#include <vector>

#include "app/explorer/jobs/ladder_controller.h"
#include "core/schedule/pin.h"
#include "viz/paint/blocks_painter.h"

namespace rematlas::explorer {

/// Returns one note per item of the ladder. `aside` is set for items that do not run in `range`. It is set
/// for no item if there is no schedule or `range` is the whole schedule. Pins that do not fit the graph are
/// ignored. Cost: linear in the ops, and in the steps of the range.
std::vector<ItemNote> item_notes(const Ladder& ladder, const LoadedSchedule* schedule, const StepRange& range,
                                 const Pins& pins);

}  // namespace rematlas::explorer
