// The checker's own simulation. It follows docs/concepts/schedules.md with sets and maps, and is deliberately
// simple and slow.
#pragma once

#include "core/checking/check.h"

namespace rematlas {

/// Simulates the schedule and fills the report. Makes no comparison with the schedule's own figures or with
/// budgets.
CheckReport play_schedule(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
