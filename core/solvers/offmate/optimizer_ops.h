// Plans training steps with an optimizer in two parts, because most solvers do not support ops that change
// residents. First, a solver plans the forward and the backward pass alone. Then each op of the optimizer is
// inserted as early as it can run.
//
//     const FlatGraph part = without_optimizer(graph, flat);
//     const RunSequence runs = ...;                                  // of `part`, with reruns
//     std::vector<PlacedRun> step = with_optimizer(graph, flat, runs, on_host);
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/run_sequence.h"

namespace rematlas::offmate {

struct PlacedRun {
    std::int32_t op = -1;
    bool on_host = false;
    bool operator==(const PlacedRun&) const = default;
};

/// Says whether the optimizer comes last: after an op of the optimizer has made or changed a tensor, no op
/// outside the optimizer reads or changes this tensor. If not, OffMate tries only the graph's order of the
/// ops.
bool optimizer_is_last(const Graph& graph, const FlatGraph& flat);

/// Returns the graph in which no op of the optimizer is required. The tensors that these ops read become
/// results. These tensors take no bytes unless they are results of `graph`, because the update usually
/// follows at once.
FlatGraph without_optimizer(const Graph& graph, const FlatGraph& flat);

/// Returns `runs` with each required op of the optimizer in its earliest place: after the makers of its
/// inputs, and after all runs that read the tensors that it changes. `on_host`: by op, whether it runs on the
/// host. `runs` must be executable. Cost: linear.
std::vector<PlacedRun> with_optimizer(const Graph& graph, const FlatGraph& flat, const RunSequence& runs,
                                      const std::vector<char>& on_host);

}  // namespace rematlas::offmate
