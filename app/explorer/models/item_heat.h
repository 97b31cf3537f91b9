// A figure of each item of the ladder graph as a colour from little to much.
#pragma once

#include <QString>
#include <vector>

#include "app/explorer/jobs/ladder_controller.h"
#include "app/explorer/loaded/loaded_schedule.h"

namespace rematlas::explorer {

/// The property that the colours of items show. `decision` and `phase` are no figures.
enum class ItemColors { decision, phase, bytes_at_peak, time, cost_to_rerun };

struct ItemHeat {
    /// One an item, from 0 to 1; below 0: the item has no such figure. Empty: no item has one.
    std::vector<double> shares;
    QString least, half, most;  ///< what 0, 1/2 and 1 stand for
};

/// `bytes_at_peak`: of the tensors that an item's ops made, where the schedule holds the most. `time`: of
/// all runs of its ops in the schedule. `cost_to_rerun`: time of one run of all its ops for each MiB that
/// they make, on a scale of powers; forward ops alone are run again. Cost: linear in the ops and steps.
ItemHeat item_heat(const Ladder& ladder, const LoadedSchedule& schedule, ItemColors colors);

}  // namespace rematlas::explorer
