// The process groups whose collectives a recorded step runs.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// Returns the name of the process group in which the collective runs. Throws c10::Error if this torch does
/// not know the op.
std::string process_group_of(const TapeOp& collective);

/// Returns the names of the process groups of the step, in the order of their first use.
std::vector<std::string> process_groups_of(const Tape& tape);

/// Gives collectives the queue of their process group and their bytes over the wire, so that they run beside
/// compute (docs/concepts/schedules.md). A queue has the name that torch gives to the use of the group, such
/// as "mesh_fsdp". If the use is unknown, or several groups of the step have the same use, the queue is
/// called "group 2", where 2 is the group's position. A collective gets no queue if it writes to an
/// argument, or if its kernel takes a workspace, as Gloo's gathers do. Throws c10::Error if a process group
/// of the step does not exist in this process.
void add_queues(Graph& graph, const Tape& tape);

}  // namespace rematlas
