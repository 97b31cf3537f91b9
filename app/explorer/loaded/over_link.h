// Computes how long a plan that copies to the host would take over another link.
//
//     Result<OverLink> faster = over_link(*schedule, *links_named("pcie5"));
//     faster->overhead;                                   // of the same steps, not solved again
#pragma once

#include "app/explorer/loaded/loaded_schedule.h"
#include "core/base/links.h"

namespace rematlas::explorer {

/// The times of a plan's steps if its copies go over a given link.
struct OverLink {
    Nanoseconds time;
    double overhead = 1;
    Nanoseconds waits;  ///< time in which the device computes nothing: it waits for copies, for host runs or
                        ///< for collectives
};

/// Returns the times over the plan's own links.
OverLink over_own_link(const LoadedSchedule& schedule);

/// Returns the times of the same steps over other links. Fails if a step would touch a tensor that is still
/// being copied, because then the order of the steps is impossible. Cost: nearly linear in the steps.
Result<OverLink> over_link(const LoadedSchedule& schedule, const Links& links);

}  // namespace rematlas::explorer
