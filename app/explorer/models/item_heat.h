// Shows a number of each item of the ladder graph as a colour, from little to much.
#pragma once

#include <QString>
#include <vector>

#include "app/explorer/jobs/ladder_controller.h"
#include "app/explorer/loaded/loaded_schedule.h"

namespace rematlas::explorer {

/// Which property the colours of items show. All except `decision` and `phase` are numbers (see ItemHeat).
enum class ItemColors { decision, phase, bytes_at_peak, time, cost_to_rerun };

struct ItemHeat {
    /// One number per item, from 0 to 1; below 0: the item has no value. Empty: no item has a value.
    std::vector<double> shares;
    QString least, half, most;  ///< words for the values that 0, 1/2 and 1 stand for
};

/// `bytes_at_peak`: bytes of the item's tensors that are held at the peak. `time`: time of all runs of its
/// ops in the schedule. `cost_to_rerun`: time of one run of its forward ops (only these are run again) per
/// MiB that they make, on a logarithmic scale. Cost: linear in the ops and steps.
ItemHeat item_heat(const Ladder& ladder, const LoadedSchedule& schedule, ItemColors colors);

}  // namespace rematlas::explorer
