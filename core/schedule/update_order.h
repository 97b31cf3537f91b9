// The order of updates. An op of the optimizer changes a parameter for all ops that read it later. So ops
// that read the parameter and come before the update in the graph must make all their runs, including reruns,
// before the update.
//
//     const std::vector<Update> updates = updates_of(graph);
//     RunSequence valid = behind_readers(updates, graph.ops.size(), runs);
//
// A FlatGraph does not contain residents. So solvers find schedules in which updates only wait for their
// inputs. Such a schedule becomes valid if each update is moved after its readers. The schedule then takes as
// long as before, but the inputs of the update are held longer.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {

/// An op that mutates residents, and the ops before it in the graph that read these residents.
struct Update {
    OpId op;
    std::vector<OpId> readers = {};  ///< ascending
};

/// Returns the updates in the graph's order. Cost: linear.
std::vector<Update> updates_of(const Graph& graph);

/// Returns the runs with each update after its readers: an update that comes before a run of a reader moves
/// to the place right after the last run of its readers. The result is executable if `runs` is. Cost: linear.
RunSequence behind_readers(std::span<const Update> updates, std::size_t ops, RunSequence runs);

/// This overload moves all updates of the graph.
RunSequence behind_readers(const Graph& graph, RunSequence runs);

/// A graph with extra tensors of 0 bytes, which fix the order of updates. In every valid order of its ops, an
/// op that reads or updates a resident comes after the resident's earlier updates. If a resident is used
/// again after an update, the update also comes after the resident's earlier readers. Ops and tensors keep
/// their ids.
struct InOrderOfUpdates {
    Graph graph;
    bool differs = false;  ///< whether the graph differs from the original
    /// Whether some op that reads a resident before an update must not run again in `graph`, because a rerun
    /// could come too late. A bound for `graph` is then not proven for the original graph.
    bool runs_once = false;
};
InOrderOfUpdates in_order_of_updates(const Graph& graph);

/// A graph with its ops in another order. Tensors keep their ids.
struct Reordered {
    Graph graph;
    std::vector<OpId> op_of;  ///< per op of `graph`: the op of the original graph
};

/// Returns the graph with these updates after all other ops. Every op whose outputs are read by no op except
/// these updates gets an extra output of 0 bytes, which each of these updates reads. So when such an update
/// runs, no other op needs a rerun any more.
Reordered with_last(const Graph& graph, std::span<const OpId> updates);

}  // namespace rematlas
