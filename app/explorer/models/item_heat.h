// Shows each item of the ladder graph in a colour that stands for a number, such as the item's time.
#pragma once

#include <QString>
#include <vector>

#include "app/explorer/jobs/ladder_controller.h"
#include "app/explorer/loaded/loaded_schedule.h"

namespace rematlas::explorer {

/// The property that the colours of items show. `decision` and `phase` have fixed colours; the other
/// properties are numbers, which `ItemHeat` maps to colours.
enum class ItemColors { decision, phase, bytes_at_peak, time, cost_to_rerun };

struct ItemHeat {
    /// For each item a number from 0 to 1; negative if the item has no value. Empty if no item has a value
    std::vector<double> shares;
    QString least, half, most;  ///< words for the values that 0, 1/2 and 1 stand for
};

/// Returns numbers to show as colours. `bytes_at_peak`: bytes of the item's tensors that are held at the
/// peak. `time`: time of all runs of the item's ops in the schedule. `cost_to_rerun`: time of one run of the
/// item's forward ops, divided by the MiB that they make, on a logarithmic scale. Backward ops do not count,
/// because they are not rerun. Cost: linear in the ops and steps.
ItemHeat item_heat(const Ladder& ladder, const LoadedSchedule& schedule, ItemColors colors);

}  // namespace rematlas::explorer
