// Simulated annealing of a run sequence and of what is away from the device meanwhile.
//
// As anneal.h, with gaps that tensors are away in and runs that wait (away_moves.h), judged by what a model in which
// nothing waits by itself says (planned_copies.h). To the time comes a small price of copies, which keeps pointless ones
// out. What the model finds to be better than all before is written out step by step and played exactly; what is refused
// then, or over the budget, does not count.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/solvers/annealing/away_moves.h"
#include "core/solvers/annealing/emit_copies.h"
#include "core/solvers/annealing/options.h"
#include "core/solvers/annealing/penalty.h"
#include "core/solving/limits.h"
#include "core/solving/solver.h"

namespace rematlas::annealing {

/// A run sequence with gaps that tensors are away in.
struct CopyState {
    RunSequence runs;  ///< ops of the CopyGraph
    /// The tensor and the number of the run that ends the gap, that of the runs for the end.
    std::vector<std::pair<std::int32_t, std::int32_t>> aways;
};

struct CopyAnnealing {
    Bytes budget;
    bool contended = false;  ///< links are taken to have their contended speeds
    double price = 0.01;     ///< of copies: so much of the time that they take
    std::uint64_t seed = 1;
    const Repeats* repeats = nullptr;
};

class CopyAnnealer {
  public:
    /// Called with what was played and is better than all before; returning false stops the search.
    using Report = std::function<bool(const Solution& best)>;

    /// All but `task` must outlive it.
    CopyAnnealer(const Problem& problem, const CopyGraph& graph, const CopyState& start,
                 const CopyAnnealing& task, const AnnealingOptions& options);

    /// Sends tensors away, as long as that makes less of what is over the budget. False: some is left.
    bool make_room(const Deadline& deadline);

    /// One cycle from the best state that was seen. False when the deadline or the report stopped it.
    bool run_cycle(std::uint64_t moves, double heat, const Deadline& deadline, const Report& report);

    const std::optional<Solution>& best() const { return best_; }
    /// For comparing lanes: the time of the best answer, or of what is nearest to one, penalty included.
    double rank() const { return rank_; }
    std::uint64_t moves() const { return moves_; }

  private:
    struct Cost {
        std::int64_t time = 0, excess = 0, copied = 0;
    };

    Cost cost() const { return {copies_.time(), profile_.excess(), copies_.copied()}; }
    double value(const Cost& cost) const;
    void load(const CopyState& state);
    CopyState state() const;
    bool step();
    void note_state(const Cost& cost);
    void play();
    double mean_rerun_time() const;

    const Problem& problem_;
    const CopyGraph& graph_;
    const CopyAnnealing task_;
    const AnnealingOptions& options_;
    Random random_;
    RunProfile profile_;
    PlannedCopies copies_;
    AwayMoves proposals_;
    CopyState best_state_;
    double best_value_;  ///< of the model, of states within the budget
    double rank_;
    std::optional<Solution> best_;
    double time_scale_, excess_scale_;  ///< 1 / base time, 1 / budget
    Penalty penalty_;
    double temperature_ = 0;
    std::uint64_t moves_ = 0;
    bool improved_ = false;
};

}  // namespace rematlas::annealing
