// The graph for a search with copies: the ops of the problem, and additional ops. A tensor is *away* while it
// is on the host and not on the device.
//
// Some of the additional ops only wait. If residents may be offloaded, another op ("home") makes these
// residents at the start of the step. From then on they are treated like other tensors, and they are results
// at the end. An op that updates a resident makes a new tensor, the next *version* of the resident, in the
// memory of the old version. Each op reads one certain version, so every run reads the same values as in the
// graph's order.
//
// Updates that run on the host (host_updates.h) have no runs in this graph. The tensors that they read are
// away at the end of the step. If such an update changes a resident that other ops read, the resident has no
// second version and is away at the start.
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
    FlatGraph flat;    ///< the problem's ops, then the additional ops
    int real_ops = 0;  ///< number of ops of the problem
    int home = -1;     ///< the op that makes residents and runs first; -1 if there is none
    std::vector<std::int32_t> waits = {};  ///< ops that only wait; each takes half as long as the one before

    // The following lists have an item per tensor.
    std::vector<std::int32_t> real = {};  ///< its tensor in the problem; for a version, the resident
    std::vector<std::uint8_t> may_leave = {};
    std::vector<std::uint8_t> starts_on_host = {};  ///< whether the host has a copy at the start
    /// Whether the tensor stays on the host if it is away at the end of the step.
    std::vector<std::uint8_t> ends_on_host = {};

    // The first and the last version of a resident that may be offloaded or is updated. The two may be the
    // same tensor.
    struct Resident {
        std::int32_t first = -1, last = -1;
    };
    std::vector<Resident> residents = {};
    /// By tensor: index into `residents`; -1 for other tensors.
    std::vector<std::int32_t> resident = {};

    // The following lists are empty if no op runs on the host.
    HostUpdates host = {};
    std::vector<std::uint8_t> on_host = {};  ///< by op: whether it runs on the host
    /// By tensor: whether an op on the host reads the tensor. The tensor is then away at the end.
    std::vector<std::uint8_t> read_there = {};
    /// By tensor: as `read_there`, but false for results of the problem.
    std::vector<std::uint8_t> dies_there = {};
    std::vector<std::uint8_t> new_there = {};  ///< by tensor: whether the tensor is away until its first use
    std::vector<std::int32_t> starts_run =
        {};  ///< by tensor: index in `host.runs` of the run that begins once the tensor is copied; or -1

    bool runs_there(std::int32_t op) const { return !host.runs.empty() && on_host[op]; }
    bool is_read_there(std::int32_t tensor) const { return !host.runs.empty() && read_there[tensor]; }
    bool is_to_die_there(std::int32_t tensor) const { return !host.runs.empty() && dies_there[tensor]; }
    bool is_new_there(std::int32_t tensor) const { return !host.runs.empty() && new_there[tensor]; }
};

/// Makes the graph. In it, small tensors are never offloaded, because copies of them are not worth the time.
/// A tensor is small if it and all smaller tensors together have at most 1/200 of all bytes that may be
/// offloaded (1/10 if the tensor has fewer bytes than `links.least_copy`), and at most 1/16 of the budget. So
/// tensors below `least_copy` can still be offloaded if most tensors are that small. `on_host` marks the
/// updates that should run on the host. Marked updates that cannot run there run on the device.
CopyGraph copy_graph(const Problem& problem, Bytes budget, const UpdateChoice& on_host = {});

/// Returns runs of the problem's ops as runs of `graph`. The op `home` of the graph runs first; if the graph
/// has no such op, returns the runs unchanged. Ops that run on the host are left out. Ops of the optimizer
/// run as soon as the tensors that they read and update are ready, because this frees much memory.
RunSequence with_early_updates(const Problem& problem, const CopyGraph& graph, const RunSequence& runs);

/// A run sequence, and the times in which tensors are away. Such a time is called an absence.
struct CopyState {
    RunSequence runs;  ///< ops of the CopyGraph
    /// For each absence: the tensor, and the index of the run that ends the absence. An index equal to
    /// `runs.size()` means the end of the step.
    std::vector<std::pair<std::int32_t, std::int32_t>> aways;
};

/// Returns the runs of `with_early_updates`, with the absences that updates on the host need.
CopyState start_of(const Problem& problem, const CopyGraph& graph, const RunSequence& runs);

/// Returns the runs of a schedule of the problem, with the times in which the schedule keeps tensors away
/// from the device. Adds the absences that updates on the host need. In the result, a resident that the
/// schedule copies has its home on the host, even if it has its home on the device in the schedule. The
/// graph, not the schedule, decides which ops run on the host.
CopyState start_of(const Problem& problem, const CopyGraph& graph, std::span<const Step> steps);

/// Returns `state` as a state of `graph`, with all absences of `state` and those that updates on the host
/// need. `state` must belong to `other`, a graph of the same problem in which no residents may be offloaded.
CopyState start_of(const Problem& problem, const CopyGraph& graph, const CopyGraph& other,
                   const CopyState& state);

}  // namespace rematlas::annealing
