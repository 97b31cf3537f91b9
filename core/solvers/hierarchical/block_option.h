// Ways to run one block of a training step, with the time and the bytes of each.
//
// The words for a block's tensors are those of core/graph/subproblem.h. A block is *given* the tensors that
// exist before it first runs. It *passes on* tensors of its forward part: other blocks read them, or they are
// results of the step. It *receives* tensors that other blocks make after its forward part, for its backward
// part. `outside` is one op that stands for all runs of other blocks between the two parts of the block.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/subproblem.h"
#include "core/schedule/run_sequence.h"

namespace rematlas::hierarchical {

/// A schedule of a block in two parts: the runs before `outside` and the runs after it. Byte counts do not
/// include the tensors that the block is given. Between the two parts the step holds `saved` bytes and the
/// tensors in `held` for this block.
struct BlockOption {
    RunSequence forward, backward;  ///< ops of the block's subproblem
    std::int64_t forward_time = 0, backward_time = 0;
    std::int64_t forward_peak = 0;     ///< bytes, including the tensors that the first part makes
    std::int64_t backward_peak = 0;    ///< bytes, including `saved` and the held and received tensors
    std::int64_t saved = 0;            ///< bytes kept between the parts in tensors that no other block reads
    std::vector<std::int32_t> held;    ///< tensors of `Subproblem::passed_on` that the second part needs
    std::vector<std::int32_t> reread;  ///< indices into `Subproblem::given`: tensors that the second part
                                       ///< reads

    std::int64_t time() const { return forward_time + backward_time; }
    bool dominates(const BlockOption& other) const;
};

/// Splits a sequence at `outside` and measures the time, the peak and the saved bytes of each part. `runs`
/// must be executable in the subproblem's flat graph. Cost: linear.
BlockOption measured(const Subproblem& block, const RunSequence& runs);

/// Returns the runs of the first part. If the block has a second part, `outside` and the runs of the second
/// part follow.
RunSequence whole_sequence(const Subproblem& block, const BlockOption& option);

/// The options of a block, and its forward pass that saves nothing.
struct BlockOptions {
    BlockOption advance;               ///< makes the passed-on tensors; has no second part
    std::vector<BlockOption> options;  ///< no option dominates another; the fastest is the first
};

/// Returns the bytes of all tensors that the block passes on or receives. While `outside` runs, the step
/// holds these bytes and the bytes that the block saves.
std::int64_t bytes_beside(const Subproblem& block);

/// Returns a copy of the graph in which the marked tensors take no bytes.
FlatGraph without_bytes(FlatGraph flat, const std::vector<std::uint8_t>& marked);

/// Removes every option that another option dominates, and sorts the rest by time.
void keep_best(std::vector<BlockOption>& options);

/// Returns the option that runs each op once.
BlockOption keep_all_option(const Subproblem& block);

/// Says whether the op runs only for its effect: no op reads its outputs, and none of them is a result. `op`
/// must be a required forward op.
bool runs_for_its_effect(const Subproblem& block, int op);

/// Returns the forward pass that saves nothing. Each op that has an effect, or on which a passed-on tensor
/// depends, runs once.
BlockOption advance_option(const Subproblem& block);

}  // namespace rematlas::hierarchical
