// Simulated annealing of a run sequence under a memory budget.
//
// The objective is time / base + lambda * excess / budget. `base` is the time without reruns. The excess is
// the sum, over all runs, of the bytes above the budget. Lambda is the value of a `Penalty`. During a cycle
// the temperature falls geometrically. The unit of temperatures is the mean time of one rerun, because with
// absolute temperatures the search stalls on graphs with many cheap ops. Each cycle starts from the best
// sequence so far, unless the caller gives another one.
#pragma once

#include <cstdint>
#include <functional>

#include "core/solvers/annealing/moves.h"
#include "core/solvers/annealing/options.h"
#include "core/solvers/annealing/penalty.h"
#include "core/solvers/annealing/random.h"
#include "core/solvers/annealing/run_profile.h"
#include "core/solving/candidate.h"
#include "core/solving/limits.h"

namespace rematlas::annealing {

class Annealer {
  public:
    /// Called with the best sequence so far: soon after a better one within the budget was found, and
    /// otherwise from time to time. The search stops if the function returns false.
    using Report = std::function<bool(const Candidate& best)>;

    /// `start` need not fit the budget. The graph, the options and `repeats` must outlive the annealer.
    Annealer(const FlatGraph& graph, std::int64_t budget, Candidate start, const AnnealingOptions& options,
             std::uint64_t seed, const Repeats* repeats = nullptr);

    /// Runs one cycle of `moves` moves from the best sequence. The cycle begins at `heat` times the start
    /// temperature. Returns false if the deadline or the report stopped the cycle. Equal seeds and equal
    /// calls give equal results if no call was stopped.
    bool run_cycle(std::uint64_t moves, double heat, const Deadline& deadline, const Report& report) {
        return run_cycle_from(best_.runs, moves, heat, deadline, report);
    }
    /// Like `run_cycle`, but starts from another sequence, which need not fit the budget.
    bool run_cycle_from(const RunSequence& runs, std::uint64_t moves, double heat, const Deadline& deadline,
                        const Report& report);

    const Candidate& best() const { return best_; }  ///< fits the budget if any state so far fit it
    std::int64_t smallest_peak() const { return smallest_peak_; }
    std::uint64_t moves() const { return moves_; }

  private:
    void step();
    Acceptance acceptance(double allowed) const;
    void note_state();
    double mean_rerun_time() const;

    const FlatGraph& graph_;
    const AnnealingOptions& options_;
    Random random_;
    RunProfile profile_;
    Moves proposals_;
    Candidate best_;
    std::int64_t smallest_peak_;
    std::int64_t smallest_excess_;
    double time_scale_, excess_scale_;  ///< 1 / base time, 1 / budget
    Penalty penalty_;
    double temperature_ = 0;
    std::uint64_t moves_ = 0;
    bool improved_ = false;
};

}  // namespace rematlas::annealing
