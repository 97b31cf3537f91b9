// The checker's player: follows docs/concepts/schedules.md on sets and maps, slow and plain on purpose.
#pragma once

#include "core/checking/check.h"

namespace rematlas {

/// Fills the whole report, except for comparisons with the schedule's own figures and with budgets.
CheckReport play_schedule(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
