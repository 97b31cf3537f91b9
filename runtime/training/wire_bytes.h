// The bytes that the collectives of a step move between ranks.
#pragma once

#include <vector>

#include "core/base/ids.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// Returns the bytes that one rank receives in a run of the op, if the collective's algorithm moves as few
/// bytes as possible; 0 for an op that is no collective. An all-reduce counts as a reduce-scatter and an
/// all-gather.
Bytes wire_bytes(const Graph& graph, const Tape& tape, OpId op);

/// Returns the sum of the bytes that one rank receives in all runs of the schedule's steps.
Bytes wire_bytes(const Graph& graph, const Tape& tape, const std::vector<Step>& steps);

/// Returns the sum of the bytes that one rank receives if each op runs once.
Bytes wire_bytes(const Graph& graph, const Tape& tape);

}  // namespace rematlas
