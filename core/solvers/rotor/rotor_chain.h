// A training graph read as a chain of stages, with what Rotor's dynamic programme needs to know of each.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/schedule/run_sequence.h"
#include "core/solving/solver.h"

namespace rematlas {

/// One way to run a stage so that its backward group can run. Bytes leave out what `RotorChain::always`
/// counts, and the input a_(i-1).
struct RotorWay {
    std::vector<std::int32_t> save;       ///< ops that make a_i and all that the backward group reads
    std::vector<std::int32_t> save_last;  ///< the same without a_i where the backward group does not read it
    std::vector<std::int32_t> save_beside;  ///< the same where a_i is there already
    std::vector<std::int32_t> backward;     ///< the backward group, with what it runs again

    std::int64_t save_time = 0, save_last_time = 0, save_beside_time = 0, backward_time = 0;
    std::int64_t saved = 0;             ///< bytes of what the backward group reads of the stage, and of a_i
    std::int64_t save_peak = 0;         ///< beside the gradients of the last stage under way
    std::int64_t save_beside_peak = 0;  ///< a_i left out
    std::int64_t backward_peak = 0;     ///< `RotorStage::gradients` included
};

/// Stage i of 1 .. n makes boundary tensor a_i out of a_(i-1); a_0 is resident. Its backward group runs after
/// those of the stages above it. Rotor knows one way to do a stage, Rockmate many.
struct RotorStage {
    std::vector<std::int32_t> advance;  ///< ops that make a_i from a_(i-1)
    std::vector<std::int32_t> first;    ///< ops that the first visit runs whatever its kind, beside its list
    std::vector<RotorWay> ways;

    std::int64_t advance_time = 0;
    std::int64_t boundary = 0;      ///< bytes of a_i
    std::int64_t left = 0;          ///< bytes that its group leaves until the end of the step
    std::int64_t gradients = 0;     ///< bytes made by the groups above that are there when this group starts,
                                    ///< beside what they leave until the end
    std::int64_t advance_peak = 0;  ///< beside `gradients` of the last stage under way
    std::int64_t advance_peak_with_input = 0;  ///< the same with a_(i-1), freed after its last use
};

struct RotorChain {
    std::vector<RotorStage> stages;  ///< stage 1 is stages[0]
    std::int64_t always = 0;  ///< bytes held all along: residents, forward results, tensors that must not be
                              ///< made twice or are read out of turn
};

/// Writes a schedule of a chain as runs. It adds the ops that only the first visit of a stage must run.
class ChainRuns {
  public:
    explicit ChainRuns(const RotorChain& chain) : chain_(chain), visited_(chain.stages.size(), false) {}
    /// `ops`: one of the lists of the stage or of its ways.
    void forward(int stage, const std::vector<std::int32_t>& ops);
    void backward(int stage, std::size_t way = 0);
    RunSequence take() { return std::move(runs_); }

  private:
    const RotorChain& chain_;
    std::vector<bool> visited_;
    RunSequence runs_;
};

/// Cost: near linear, and (cuts)^2 for merging beyond `max_stages`. Fewer than two stages: the graph is no
/// chain.
RotorChain rotor_chain(const Problem& problem, int max_stages);

/// `answer`, with the reason "the graph is no chain".
Infeasible no_chain(Infeasible answer);

}  // namespace rematlas
