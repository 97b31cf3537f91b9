// A flat graph that contains only some ops of a training step.
//
//     const Subproblem part = subproblem(whole, rank, forward_ops, backward_ops);
//     cost_of(part.flat, runs);                     // with part.outside among the runs
//     part.op_of[run];                              // the op of the whole graph that a run stands for
//
// A block of a training step runs in two parts: its forward ops, and later its backward ops. All other ops
// that run between the two parts are one op of the subproblem, `outside`. It reads the tensors that the first
// part makes for other ops, and makes the tensors that other ops make for the second part, which runs after
// `outside`. The bytes that the block holds while `outside` runs are the bytes that the block saves. To limit
// these bytes, give `outside` a workspace.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

struct Subproblem {
    /// Contains the ops of the first part, `outside`, and the ops of the second part. Tensors that exist
    /// before the first part and are only read by these ops are not in this graph: the caller holds them. The
    /// graph has no residents. Its results are the results of the step, and the tensors that other ops read
    /// after the second part has begun.
    FlatGraph flat;
    std::vector<std::int32_t> op_of;  ///< per op of `flat`: the op of the whole graph; -1 for `outside`
    /// Per tensor of `flat`: the tensor of the whole graph; -1 for a tensor that only orders ops.
    std::vector<std::int32_t> tensor_of;
    std::int32_t outside = -1;  ///< op of `flat`; -1 if there is no second part

    /// Per op of `flat`: the inputs that exist before the first part (whole graph's ids).
    Lists given_inputs;
    std::vector<std::int32_t> given;  ///< all tensors of `given_inputs`, ascending (whole graph's ids)
    /// Tensors of the first part that other ops read or that are results (ids of `flat`).
    std::vector<std::int32_t> passed_on;
    /// Tensors of other ops that the second part reads (ids of `flat`).
    std::vector<std::int32_t> received;
    /// Tensors of the second part that other ops read or that are results (ids of `flat`).
    std::vector<std::int32_t> left;
};

/// Returns the subproblem of the two parts. `first` and `second` must each be in the order in which they run,
/// and share no op; `second` may be empty. `rank` is, for each op of the whole graph, its place in a step
/// that runs all of the first part, then all ops of `outside`, then all of the second part; -1 for ops that
/// never run. The rank decides which tensors of other ops exist before the first part (given) or are made
/// after it (received), and which tensors other ops read after the second part has begun. An op keeps its
/// in-place pairs if all tensors that it would overwrite are in the subproblem and none of them is a result
/// that can be made only once. Cost: linear in the ops' inputs and outputs, in the users of these, and in the
/// size of the whole graph.
Subproblem subproblem(const FlatGraph& whole, std::span<const std::int32_t> rank,
                      std::span<const std::int32_t> first, std::span<const std::int32_t> second = {});

}  // namespace rematlas
