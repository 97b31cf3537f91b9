// Ways to run one block of a training step, and what each of them costs the step around it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/graph/subproblem.h"
#include "core/schedule/run_sequence.h"

namespace rematlas::hierarchical {

/// A schedule of a block in two parts. Bytes leave out what the block is given. Between the parts the step
/// around it holds `saved` bytes for it, and what it lists as held.
struct BlockOption {
    RunSequence forward, backward;  ///< ops of the block's subproblem
    std::int64_t forward_time = 0, backward_time = 0;
    std::int64_t forward_peak = 0;   ///< what the first part makes included
    std::int64_t backward_peak = 0;  ///< what is saved, held and received included
    std::int64_t saved = 0;          ///< of tensors that nobody else reads
    std::vector<std::int32_t> held;  ///< of `Subproblem::passed_on`: what the second part has from the first
    std::vector<std::int32_t> reread;  ///< indices into `Subproblem::given`: what the second part reads

    std::int64_t time() const { return forward_time + backward_time; }
    bool dominates(const BlockOption& other) const;
};

/// Reads off what a sequence costs. `runs` is executable in the subproblem's flat graph. Cost: linear.
BlockOption measured(const Subproblem& block, const RunSequence& runs);

/// Both parts, with `outside` between them where there is a second one.
RunSequence whole_sequence(const Subproblem& block, const BlockOption& option);

/// The options of a block and its way to go forward without saving anything.
struct BlockOptions {
    BlockOption advance;               ///< makes what is passed on; no second part
    std::vector<BlockOption> options;  ///< none dominated, the fastest first
};

/// What the step around a block holds while `outside` runs, beside what the block saves: bytes of what is
/// passed on and received.
std::int64_t bytes_beside(const Subproblem& block);

/// The graph with no bytes for the tensors that are marked.
FlatGraph without_bytes(FlatGraph flat, const std::vector<std::uint8_t>& marked);

/// Drops what is dominated, and sorts.
void keep_best(std::vector<BlockOption>& options);

/// The option that runs each op once.
BlockOption keep_all_option(const Subproblem& block);

/// A forward op that must run though nothing of the block or of others reads what it makes: it has an effect.
bool runs_for_its_effect(const Subproblem& block, int op);

/// Runs what is passed on needs and what has an effect, each op once.
BlockOption advance_option(const Subproblem& block);

}  // namespace rematlas::hierarchical
