// The order of updates: what an op of the optimizer does to a parameter is seen by whatever reads it later, so
// all runs of what reads it before, reruns included, come first.
//
//     const std::vector<Update> updates = updates_of(graph);
//     RunSequence valid = behind_readers(updates, graph.ops.size(), runs);
//
// A FlatGraph does not know residents. Solvers therefore find schedules of a step in which updates wait for
// nothing but their inputs; of these a valid one is made by letting an update wait, which takes no time, and the
// bytes of what it reads for longer.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {

/// An op that mutates residents which ops before it in the graph read.
struct Update {
    OpId op;
    std::vector<OpId> readers = {};  ///< ascending
};

/// In the graph's order. Cost: linear.
std::vector<Update> updates_of(const Graph& graph);

/// The same runs, with each update that comes before a run of its readers right behind the last of these.
/// Executable where `runs` is. Cost: linear.
RunSequence behind_readers(std::span<const Update> updates, std::size_t ops, RunSequence runs);

/// The same for a graph.
RunSequence behind_readers(const Graph& graph, RunSequence runs);

/// The graph with tensors without bytes that lead from each op which mutates a resident to those that read or mutate it
/// later, so that no order of the ops has these before. Ops and tensors keep their ids.
struct InOrderOfUpdates {
    Graph graph;
    bool differs = false;  ///< from the original
    /// What reads a resident before such an op is not run again here, because a rerun could come too late. What is
    /// proven of this graph is then not proven of the original.
    bool runs_once = false;
};
InOrderOfUpdates in_order_of_updates(const Graph& graph);

/// A graph whose ops stand in another order. Tensors have their ids.
struct Reordered {
    Graph graph;
    std::vector<OpId> op_of;  ///< per op of `graph`: that of the original
};

/// The graph with these updates behind everything else: each reads a tensor without bytes of every op that no op
/// but an update waits for. Where all other ops have run there is nothing to run again.
Reordered with_last(const Graph& graph, std::span<const OpId> updates);

}  // namespace rematlas
