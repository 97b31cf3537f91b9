// Ways to run one block of a training step, and what each of them costs the step around it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/graph/subproblem.h"
#include "core/schedule/run_sequence.h"

namespace rematlas::hierarchical {

/// A schedule of a block in two parts. The counts of bytes leave out the tensors that the block is given.
/// Between the two parts the step around the block holds `saved` bytes and the tensors of `held`.
struct BlockOption {
    RunSequence forward, backward;  ///< ops of the block's subproblem
    std::int64_t forward_time = 0, backward_time = 0;
    std::int64_t forward_peak = 0;     ///< bytes, including the tensors that the first part makes
    std::int64_t backward_peak = 0;    ///< bytes, including the saved, held and received tensors
    std::int64_t saved = 0;            ///< bytes of tensors kept between the parts that no other block reads
    std::vector<std::int32_t> held;    ///< tensors of `Subproblem::passed_on` that the second part needs
    std::vector<std::int32_t> reread;  ///< indices into `Subproblem::given`: tensors that the second part
                                       ///< reads

    std::int64_t time() const { return forward_time + backward_time; }
    bool dominates(const BlockOption& other) const;
};

/// Splits a sequence at `outside` and measures the time, the peaks and the saved bytes of its two parts.
/// `runs` must be executable in the subproblem's flat graph. Cost: linear.
BlockOption measured(const Subproblem& block, const RunSequence& runs);

/// The runs of the first part, then `outside` and the runs of the second part if the block has a second
/// part.
RunSequence whole_sequence(const Subproblem& block, const BlockOption& option);

/// The options of a block, and its forward pass that saves nothing.
struct BlockOptions {
    BlockOption advance;               ///< makes what is passed on; has no second part
    std::vector<BlockOption> options;  ///< no option dominates another; the fastest is the first
};

/// The bytes that the step around a block holds while `outside` runs, beside what the block saves: those of
/// all tensors that the block passes on and receives.
std::int64_t bytes_beside(const Subproblem& block);

/// A copy of the graph in which the marked tensors have no bytes.
FlatGraph without_bytes(FlatGraph flat, const std::vector<std::uint8_t>& marked);

/// Drops every option that another one dominates, and sorts the rest by time.
void keep_best(std::vector<BlockOption>& options);

/// The option that runs each op once.
BlockOption keep_all_option(const Subproblem& block);

/// Whether nothing reads what the op makes, so that the op runs only for its effect. `op` must be a required
/// forward op.
bool runs_for_its_effect(const Subproblem& block, int op);

/// The forward pass that saves nothing: each op that has an effect or that the passed-on tensors need runs
/// once.
BlockOption advance_option(const Subproblem& block);

}  // namespace rematlas::hierarchical
