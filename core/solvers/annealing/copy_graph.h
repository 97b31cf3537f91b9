// The graph as a search with copies sees it: its ops, and some more that are none of the problem's.
//
// Ops that only wait. And where residents may leave the device, an op that makes them all at the start of the step: from
// then on they are tensors like others, results that are there at the end. What an op updates it makes anew, in place
// of what was there: a new *version* of the resident, so that no run finds another value than in the graph's order.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "core/solving/solver.h"

namespace rematlas::annealing {

struct CopyGraph {
    FlatGraph flat;                        ///< the problem's ops, then the others
    int real_ops = 0;                      ///< ops of the problem
    int home = -1;                         ///< the op that makes residents, first of all; -1: there is none
    std::vector<std::int32_t> waits = {};  ///< ops that do nothing for 1/8, 1/16, ... of the step

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
};

/// Tensors too small to be worth a copy do not leave: those below `links.least_copy`, and those that together hold
/// a two hundredth of all bytes that may.
CopyGraph copy_graph(const Problem& problem);

/// The runs of the problem's ops as the search takes them, with what the CopyGraph has first. Ops of the optimizer run as soon as
/// what they read and update is ready: what they free is a good part of the memory.
RunSequence with_early_updates(const Problem& problem, const CopyGraph& graph, const RunSequence& runs);

}  // namespace rematlas::annealing
