// Predicts the times of collectives between ranks that need not exist.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/costs/rank_links.h"
#include "core/graph/graph.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// A process group, as a recording knows it.
struct RecordedGroup {
    std::string queue;       ///< name of the queue: the mesh's dimensions, such as fsdp
    std::vector<int> ranks;  ///< ranks that belong to the group, ascending
};

/// The groups of a recording by their names in torch.distributed, and the links between all ranks.
struct RankCosts {
    RankLinks links;
    std::string links_given;  ///< the names of the links, for the graph's provenance
    std::map<std::string, RecordedGroup> groups;
};

/// Reads {"links": "nvlink4,ib400", "groups": {"0": {"queue": "fsdp", "ranks": [0, 1]}}}. Fails if links are
/// unknown.
Result<RankCosts> rank_costs_from(const std::string& text);

/// Gives each collective of the graph the queue of its group, its bytes over the wire, and a time computed
/// from the links. Fails if a collective has a group that is not among the given ones, or if no link connects
/// a group.
Result<void> add_rank_costs(Graph& graph, const Tape& tape, const RankCosts& costs);

/// Multiplies the time of each collective of the graph by `weight`; no time becomes longer than 1e15 ns. The
/// graph's provenance records the weight.
void weigh_collectives(Graph& graph, const Tape& tape, double weight);

}  // namespace rematlas
