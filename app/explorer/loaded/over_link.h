// Says how a plan that copies to the host would do over another link.
//
//     Result<OverLink> faster = over_link(*schedule, *links_named("pcie5"));
//     faster->overhead;                                   // of the same steps, not solved again
#pragma once

#include "app/explorer/loaded/loaded_schedule.h"
#include "core/base/links.h"

namespace rematlas::explorer {

/// The times of a plan's steps over some link.
struct OverLink {
    Nanoseconds time;
    double overhead = 1;
    Nanoseconds waits;  ///< time in which the device runs nothing, because it waits for copies or host runs
};

/// Returns the times over the plan's own links.
OverLink over_own_link(const LoadedSchedule& schedule);

/// Returns the times of the same steps over other links. Fails if a step is not possible then, because a
/// tensor that it touches would still be in a copy. Cost: nearly linear in the steps.
Result<OverLink> over_link(const LoadedSchedule& schedule, const Links& links);

}  // namespace rematlas::explorer
