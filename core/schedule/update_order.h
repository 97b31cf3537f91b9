// The order of updates. An op of the optimizer changes a parameter for all ops that read it later. So all
// runs of the ops that read the parameter before, reruns included, must come first.
//
//     const std::vector<Update> updates = updates_of(graph);
//     RunSequence valid = behind_readers(updates, graph.ops.size(), runs);
//
// A FlatGraph does not know residents. Solvers therefore find schedules of a step in which updates wait for
// nothing but their inputs. Such a schedule becomes valid when each update waits for its readers. The wait
// takes no time, but the inputs of the update are held longer.
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

/// The same runs, but each update that comes before a run of its readers stands right behind the last run of
/// its readers. The sequence is executable where `runs` is. Cost: linear.
RunSequence behind_readers(std::span<const Update> updates, std::size_t ops, RunSequence runs);

/// The same for a graph.
RunSequence behind_readers(const Graph& graph, RunSequence runs);

/// The graph with extra tensors of 0 bytes. They lead from each op that mutates a resident to the ops that
/// read or mutate the resident later, so that these ops come later in every order. Ops and tensors keep
/// their ids.
struct InOrderOfUpdates {
    Graph graph;
    bool differs = false;  ///< from the original
    /// Whether some op that reads a resident before a mutation may not run again in `graph`, because a rerun
    /// could come too late. A bound for `graph` is then not proven for the original.
    bool runs_once = false;
};
InOrderOfUpdates in_order_of_updates(const Graph& graph);

/// A graph whose ops stand in another order. Tensors keep their ids.
struct Reordered {
    Graph graph;
    std::vector<OpId> op_of;  ///< per op of `graph`: the op of the original
};

/// The graph with these updates behind all other ops: each update reads a tensor of 0 bytes from every op
/// whose outputs only updates read. When all other ops have run, none of them needs a rerun any more.
Reordered with_last(const Graph& graph, std::span<const OpId> updates);

}  // namespace rematlas
