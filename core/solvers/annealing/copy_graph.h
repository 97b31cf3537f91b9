// The graph as a search with copies sees it: its ops, and some more that are none of the problem's.
//
// Ops that only wait. And where residents may leave the device, an op that makes them all at the start of the step: from
// then on they are tensors like others, results that are there at the end. What an op updates it makes anew, in place
// of what was there: a new *version* of the resident, so that no run finds another value than in the graph's order.
//
// Where updates run on the host (host_updates.h) their ops run on nothing here: what they read is away at the end, and what
// they update for others has no second version and is away at the start.
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
    int home = -1;                         ///< the op that makes residents, first of all; -1: there is none
    std::vector<std::int32_t> waits = {};  ///< ops that do nothing, each for half as long as the one before

    // Of each tensor.
    std::vector<std::int32_t> real = {};  ///< the tensor of the problem, of which it may be a version
    std::vector<std::uint8_t> may_leave = {};
    std::vector<std::uint8_t> starts_on_host = {};  ///< a copy is there from the start
    std::vector<std::uint8_t> ends_on_host = {};    ///< in a gap to the end it is not copied back

    // Of each resident that may leave, by `resident`: its versions, the first and the last, which may be the same.
    struct Resident {
        std::int32_t first = -1, last = -1;
    };
    std::vector<Resident> residents = {};
    std::vector<std::int32_t> resident = {};  ///< of each tensor, -1 where it is none or not of these

    // Empty where nothing runs on the host.
    HostUpdates host = {};
    std::vector<std::uint8_t> on_host = {};     ///< of each op
    std::vector<std::uint8_t> read_there = {};  ///< of each tensor: it is away at the end
    std::vector<std::uint8_t> dies_there =
        {};  ///< of each tensor: the same, and it is no result of the problem
    std::vector<std::uint8_t> new_there = {};  ///< of each tensor: it is away until it is first read
    std::vector<std::int32_t> starts_run =
        {};  ///< of each tensor: the run of `host` that begins after its copy, or -1

    bool runs_there(std::int32_t op) const { return !host.runs.empty() && on_host[op]; }
    bool is_read_there(std::int32_t tensor) const { return !host.runs.empty() && read_there[tensor]; }
    bool is_to_die_there(std::int32_t tensor) const { return !host.runs.empty() && dies_there[tensor]; }
    bool is_new_there(std::int32_t tensor) const { return !host.runs.empty() && new_there[tensor]; }
};

/// Tensors too small to be worth a copy do not leave: the smallest ones, as far as together they hold a two hundredth of all
/// bytes that may, or of those below `links.least_copy` a tenth, and in any case no more than a sixteenth of the
/// budget. (Where most are smaller than that, copies of them may still be worth it.)
/// `on_host`: of these updates those run there that can.
CopyGraph copy_graph(const Problem& problem, Bytes budget, const UpdateChoice& on_host = {});

/// The runs of the problem's ops as the search takes them, with what the CopyGraph has first, without those on the host. Ops
/// of the optimizer run as soon as what they read and update is ready: what they free is a good part of the memory.
RunSequence with_early_updates(const Problem& problem, const CopyGraph& graph, const RunSequence& runs);

/// A run sequence with gaps that tensors are away in.
struct CopyState {
    RunSequence runs;  ///< ops of the CopyGraph
    /// The tensor and the number of the run that ends the gap, that of the runs for the end.
    std::vector<std::pair<std::int32_t, std::int32_t>> aways;
};

/// `with_early_updates`, with away what has to be.
CopyState start_of(const Problem& problem, const CopyGraph& graph, const RunSequence& runs);

/// The same with all that is away in a schedule of the problem. A resident that leaves in it lives on the host, whatever
/// its home is there, and ops that run on the host in only one of both run where the graph says.
CopyState start_of(const Problem& problem, const CopyGraph& graph, std::span<const Step> steps);

/// The same with all that is away in `state`, of another graph of the problem in which no residents leave.
CopyState start_of(const Problem& problem, const CopyGraph& graph, const CopyGraph& other,
                   const CopyState& state);

}  // namespace rematlas::annealing
