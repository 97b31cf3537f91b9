// A training graph as a chain of stages, with the data that Rotor's dynamic program needs.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/schedule/run_sequence.h"
#include "core/solving/solver.h"

namespace rematlas {

/// One way to run stage i so that its backward group can run (see RotorStage). The bytes do not include
/// `RotorChain::always`, nor the stage's input a_(i-1).
struct RotorWay {
    std::vector<std::int32_t> save;       ///< ops that make a_i and all tensors that the backward group reads
    std::vector<std::int32_t> save_last;  ///< as `save`, but if the backward group does not read a_i, the ops
                                          ///< that are only needed for a_i are left out
    std::vector<std::int32_t> save_beside;  ///< as `save`, if a_i exists already
    std::vector<std::int32_t> backward;     ///< the backward group, with the ops that it runs again

    std::int64_t save_time = 0, save_last_time = 0, save_beside_time = 0, backward_time = 0;
    std::int64_t saved = 0;             ///< bytes of a_i, and of the stage's tensors that the backward group
                                        ///< reads
    std::int64_t save_peak = 0;         ///< peak bytes of `save`; gradients of the groups above are not
                                        ///< counted
    std::int64_t save_beside_peak = 0;  ///< peak bytes of `save_beside`, without a_i
    std::int64_t backward_peak = 0;     ///< bytes, including `RotorStage::gradients`
};

/// Stage i of 1 .. n makes the boundary tensor a_i from a_(i-1); a_0 is resident. The backward group of a
/// stage is its backward ops. It runs after the groups of the stages above (i + 1 .. n). Rotor knows one way
/// to run a stage, Rockmate many.
struct RotorStage {
    std::vector<std::int32_t> advance;  ///< ops that make a_i from a_(i-1)
    std::vector<std::int32_t> first;    ///< ops that the stage must run at its first forward run, in
                                        ///< addition to `advance` or to a list of one of its ways
    std::vector<RotorWay> ways;

    std::int64_t advance_time = 0;
    std::int64_t boundary = 0;      ///< bytes of a_i
    std::int64_t left = 0;          ///< bytes that the stage's backward group makes and that stay until the
                                    ///< end of the step
    std::int64_t gradients = 0;     ///< bytes that the groups above have made and that exist when this
                                    ///< group starts, without the `left` of the groups above
    std::int64_t advance_peak = 0;  ///< peak bytes of `advance`; gradients of the groups above are not
                                    ///< counted
    std::int64_t advance_peak_with_input = 0;  ///< as `advance_peak`, but a_(i-1) counts until its last use
};

struct RotorChain {
    std::vector<RotorStage> stages;  ///< stage 1 is stages[0]
    std::int64_t always = 0;  ///< bytes held during the whole step: residents, forward results, tensors that
                              ///< may be made only once, and tensors that are read by a stage other than
                              ///< their own and the next
};

/// Writes a schedule of a chain as runs. Adds the ops that the first forward run of each stage must include
/// (`RotorStage::first`).
class ChainRuns {
  public:
    explicit ChainRuns(const RotorChain& chain) : chain_(chain), visited_(chain.stages.size(), false) {}
    /// `ops` must be a list of ops in the RotorStage of this stage, or in one of its `ways` (see RotorWay).
    void forward(int stage, const std::vector<std::int32_t>& ops);
    void backward(int stage, std::size_t way = 0);
    RunSequence take() { return std::move(runs_); }

  private:
    const RotorChain& chain_;
    std::vector<bool> visited_;
    RunSequence runs_;
};

/// Reads the graph as a chain. If it has more than `max_stages` stages, neighbours are merged. A result with
/// fewer than two stages means that the graph is no chain. Cost: nearly linear in the ops; if stages are
/// merged, also quadratic in the cuts.
RotorChain rotor_chain(const Problem& problem, int max_stages);

/// Returns `answer` with the reason "the graph is no chain".
Infeasible no_chain(Infeasible answer);

}  // namespace rematlas
