// The graph as a search with copies sees it: the ops of the problem, and some more.
//
// Some of the additional ops only wait. Where residents may leave the device, another op makes these
// residents at the start of the step: from then on they are tensors like others, and they are results at the
// end. An op that updates a resident makes a new *version* of it in place of the old one, so that no run
// finds another value than in the graph's order.
//
// Updates that run on the host (host_updates.h) have no runs here. The tensors that they read are away at
// the end. A resident that they update and that other ops read has no second version and is away at the
// start.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/annealing/host_updates.h"
#include "core/solving/solver.h"

namespace rematlas::annealing {

struct CopyGraph {
    FlatGraph flat;                        ///< the problem's ops, then the others
    int real_ops = 0;                      ///< ops of the problem
    int home = -1;                         ///< the op that makes residents and runs first, or -1
    std::vector<std::int32_t> waits = {};  ///< ops that do nothing, each for half as long as the one before

    // The following lists are by tensor.
    std::vector<std::int32_t> real = {};  ///< the tensor of the problem that it is, or is a version of
    std::vector<std::uint8_t> may_leave = {};
    std::vector<std::uint8_t> starts_on_host = {};  ///< whether a copy is on the host from the start
    std::vector<std::uint8_t> ends_on_host = {};    ///< whether it stays on the host after a gap to the end

    // By the numbers of `resident`: the first and the last version of each resident that may leave or is
    // updated. They may be the same.
    struct Resident {
        std::int32_t first = -1, last = -1;
    };
    std::vector<Resident> residents = {};
    std::vector<std::int32_t> resident = {};  ///< by tensor: index into `residents`, or -1

    // The following are empty if no op runs on the host.
    HostUpdates host = {};
    std::vector<std::uint8_t> on_host = {};     ///< by op
    std::vector<std::uint8_t> read_there = {};  ///< by tensor: an op on the host reads it, and it is away at
                                                ///< the end
    std::vector<std::uint8_t> dies_there = {};  ///< by tensor: the same, and it is no result of the problem
    std::vector<std::uint8_t> new_there = {};   ///< by tensor: it is away until it is first read
    std::vector<std::int32_t> starts_run =
        {};  ///< by tensor: the run of `host` that begins after its copy, or -1

    bool runs_there(std::int32_t op) const { return !host.runs.empty() && on_host[op]; }
    bool is_read_there(std::int32_t tensor) const { return !host.runs.empty() && read_there[tensor]; }
    bool is_to_die_there(std::int32_t tensor) const { return !host.runs.empty() && dies_there[tensor]; }
    bool is_new_there(std::int32_t tensor) const { return !host.runs.empty() && new_there[tensor]; }
};

/// Tensors that are too small to be worth a copy do not leave. These are the smallest tensors, as long as
/// they hold together at most 1/200 of all bytes that may leave (1/10 for tensors below `links.least_copy`),
/// and at most 1/16 of the budget. (If most tensors are below `least_copy`, copies of them may still be
/// worth it.) `on_host` marks the updates that shall run on the host; those that cannot run there run on the
/// device.
CopyGraph copy_graph(const Problem& problem, Bytes budget, const UpdateChoice& on_host = {});

/// The runs of the problem's ops as the search takes them: `home` runs first, and ops that run on the host
/// are left out. Ops of the optimizer run as soon as the tensors that they read and update are ready,
/// because that frees a good part of the memory. Without `home` the runs stay as they are.
RunSequence with_early_updates(const Problem& problem, const CopyGraph& graph, const RunSequence& runs);

/// A run sequence with the gaps in which tensors are away.
struct CopyState {
    RunSequence runs;  ///< ops of the CopyGraph
    /// Each gap is its tensor and the index of the run that ends it; the number of runs stands for the end.
    std::vector<std::pair<std::int32_t, std::int32_t>> aways;
};

/// `with_early_updates`, with the gaps that updates on the host need.
CopyState start_of(const Problem& problem, const CopyGraph& graph, const RunSequence& runs);

/// The same with all gaps of a schedule of the problem. A resident that the schedule moves lives on the
/// host, whatever home the schedule gives it. The graph decides which ops run on the host, whatever the
/// schedule does.
CopyState start_of(const Problem& problem, const CopyGraph& graph, std::span<const Step> steps);

/// The same with all gaps of `state`. `state` belongs to `other`, a graph of the same problem in which no
/// residents leave.
CopyState start_of(const Problem& problem, const CopyGraph& graph, const CopyGraph& other,
                   const CopyState& state);

}  // namespace rematlas::annealing
