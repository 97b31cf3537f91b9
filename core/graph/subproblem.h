// Some ops of a training step as a flat graph of their own.
//
//     const Subproblem part = subproblem(whole, rank, forward_ops, backward_ops);
//     cost_of(part.flat, runs);                     // with part.outside among the runs
//     part.op_of[run];                              // the op of the whole graph that a run stands for
//
// A block of a training step runs in two parts, its forward ops and later its backward ops. All ops that run
// between the two parts are one op of the subproblem, `outside`. It reads the tensors that the first part
// makes for other ops, and makes the tensors that other ops make for the second part, which runs after it.
// The bytes that the block holds while `outside` runs are the bytes that the block saves; a workspace of
// `outside` limits them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

struct Subproblem {
    /// The ops of the first part, `outside`, the ops of the second part. Tensors that are there before the
    /// first part and that these ops only read are not in this graph: the caller holds them. The graph has
    /// no residents. Its results are the results of the step, and the tensors that other ops read once the
    /// second part has begun.
    FlatGraph flat;
    std::vector<std::int32_t> op_of;      ///< per op of `flat`: the op of the whole graph; -1 for `outside`
    std::vector<std::int32_t> tensor_of;  ///< per tensor of `flat`: the whole graph's; -1: it only orders ops
    std::int32_t outside = -1;            ///< op of `flat`; -1 where there is no second part

    Lists given_inputs;               ///< per op of `flat`: inputs that are there before (whole graph's ids)
    std::vector<std::int32_t> given;  ///< all of these inputs, ascending (whole graph's ids)
    std::vector<std::int32_t> passed_on;  ///< made by the first part, read by others or a result (of `flat`)
    std::vector<std::int32_t> received;   ///< made by others, read by the second part (of `flat`)
    std::vector<std::int32_t> left;       ///< made by the second part, read by others or a result (of `flat`)
};

/// Both parts stand in the order in which they run, and share no op; `second` may be empty. `rank` is, by op
/// of the whole graph, its place in a step that runs all of the first part, then all ops that are `outside`,
/// then all of the second part; -1 for ops that never run. The rank decides which tensors of other ops are
/// there before the first part (given) or come after it (received), and which tensors other ops read once
/// the second part has begun. An op runs in place if all tensors that it overwrites belong to the
/// subproblem. Cost: linear in the ops' inputs and outputs, in the users of these, and in the size of the
/// whole graph.
Subproblem subproblem(const FlatGraph& whole, std::span<const std::int32_t> rank,
                      std::span<const std::int32_t> first, std::span<const std::int32_t> second = {});

}  // namespace rematlas
