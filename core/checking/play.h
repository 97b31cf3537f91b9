// The checker's player: follows core/schedule/README.md on sets and maps, slow and plain on purpose.
#pragma once

#include "core/checking/check.h"

namespace rematlas {

/// Everything in the report but what compares it with the schedule's own figures and budgets.
CheckReport play_schedule(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
