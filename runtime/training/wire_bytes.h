// The bytes that the collectives of a step move between ranks.
#pragma once

#include <vector>

#include "core/base/ids.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// Returns the bytes that one rank receives in a run of the op, if the algorithm moves as few as possible: 0
/// for an op that is no collective. An all-reduce counts as a reduce-scatter and an all-gather.
Bytes wire_bytes(const Graph& graph, const Tape& tape, OpId op);

/// Returns these bytes of all runs in the steps.
Bytes wire_bytes(const Graph& graph, const Tape& tape, const std::vector<Step>& steps);

/// Returns these bytes of one run of each op.
Bytes wire_bytes(const Graph& graph, const Tape& tape);

}  // namespace rematlas
