// Some ops of a training step as a flat graph of their own.
//
//     const Subproblem part = subproblem(whole, rank, forward_ops, backward_ops);
//     cost_of(part.flat, runs);                     // with part.outside among the runs
//     part.op_of[run];                              // the op of the whole graph that a run stands for
//
// A block of a training step runs in two parts, its forward ops and later its backward ops. All that runs
// between them elsewhere is one op of the subproblem, `outside`: it reads what the first part makes for
// others, and makes what others make for the second part, which runs after it. What the block holds while
// `outside` runs is what it saves; a workspace of `outside` limits that.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

struct Subproblem {
    /// The ops of the first part, `outside`, the ops of the second part.
    /// Tensors that the ops only read and that are there before the first part have no bytes here and are in
    /// no list: who asks holds them. No residents. Results are results of the step, and what others read
    /// after the second part.
    FlatGraph flat;
    std::vector<std::int32_t> op_of;  ///< per op of `flat`, of the whole graph; -1 for `outside`
    std::vector<std::int32_t>
        tensor_of;              ///< per tensor of `flat`, of the whole graph; -1: an order without bytes
    std::int32_t outside = -1;  ///< op of `flat`; -1 where there is no second part

    Lists given_inputs;               ///< per op of `flat`: what it reads that is there before (of the whole)
    std::vector<std::int32_t> given;  ///< all of these, ascending (of the whole)
    std::vector<std::int32_t> passed_on;  ///< made by the first part, read by others or a result (of `flat`)
    std::vector<std::int32_t> received;   ///< made by others, read by the second part (of `flat`)
    std::vector<std::int32_t> left;       ///< made by the second part, read by others or a result (of `flat`)
};

/// Both parts are in the order they run and share no op; `second` may be empty. `rank`: by op of the whole
/// graph, its place in a step where all of the first part runs before all that is `outside`, and that before
/// all of the second part; -1 for ops that never run. It says which tensors of others are there before the
/// first part (given) or come after it (received), and what others read when the second part has begun. Ops
/// run in place as far as all that they write over is of the subproblem. Cost: linear in the ops' inputs and
/// outputs and in the users of these, and in the size of the whole graph.
Subproblem subproblem(const FlatGraph& whole, std::span<const std::int32_t> rank,
                      std::span<const std::int32_t> first, std::span<const std::int32_t> second = {});

}  // namespace rematlas
