// How a plan that copies to the host would do over another link.
//
//     Result<OverLink> faster = over_link(*schedule, *links_named("pcie5"));
//     faster->overhead;                                   // of the same steps, not solved again
#pragma once

#include "app/explorer/loaded/loaded_schedule.h"
#include "core/base/links.h"

namespace rematlas::explorer {

/// Steps of a plan on the clock of some link.
struct OverLink {
    Nanoseconds time;
    double overhead = 1;
    Nanoseconds waits;  ///< of the device, for what is under way: the time in which it runs nothing
};

/// As the plan is.
OverLink over_own_link(const LoadedSchedule& schedule);

/// The same steps over other links. Errors: a step that is not possible then, since what it touches would
/// still be under way. Cost: near linear in the steps.
Result<OverLink> over_link(const LoadedSchedule& schedule, const Links& links);

}  // namespace rematlas::explorer
