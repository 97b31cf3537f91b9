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

#include "core/schedule/simulate.h"
#include "core/solvers/annealing/away_moves.h"
#include "core/solvers/annealing/emit_copies.h"
#include "core/solvers/annealing/options.h"
#include "core/solvers/annealing/penalty.h"
#include "core/solving/limits.h"
#include "core/solving/solver.h"

namespace rematlas::annealing {

struct CopyAnnealing {
    Bytes budget;
    bool contended = false;  ///< the link to the host is taken to have its contended speed
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

    /// One cycle from the best state that was seen, or where one could be played from the best of these. False when the deadline or the report stopped it.
    bool run_cycle(std::uint64_t moves, double heat, const Deadline& deadline, const Report& report);

    const std::optional<Solution>& best() const { return best_; }
    /// What `best` was played from.
    const CopyState& best_state() const { return best_state_; }
    /// Of the schedule nearest to the budget, where it has found none within. Nothing where its copies
    /// come too late, or the host has no room for them.
    std::optional<Bytes> smallest_peak();
    /// For comparing lanes: the overhead of the best answer, and worse than any of these how near another one is to one.
    double rank() const { return best_ ? best_->overhead : kNoAnswer + rank_; }
    std::uint64_t moves() const { return moves_; }

  private:
    static constexpr double kNoAnswer = 1000;
    struct Cost {
        std::int64_t time = 0, excess = 0, copied = 0;
    };

    Cost cost() const { return {copies_.time(), profile_.excess(), copies_.copied()}; }
    double value(const Cost& cost) const;
    void load(const CopyState& state);
    CopyState state() const;
    bool step();
    void note_state(const Cost& cost);
    std::optional<Simulation> played_of(const EmittedCopies& written) const;
    bool play();
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
    double best_value_;  ///< of the model, of states within the budget, in this cycle
    double rank_;        ///< of the model: the least time, or the least of what is over the budget
    std::optional<Solution> best_;
    double time_scale_, excess_scale_;  ///< 1 / base time, 1 / budget
    Penalty penalty_;
    double temperature_ = 0;
    std::uint64_t moves_ = 0;
    bool improved_ = false;
};

}  // namespace rematlas::annealing
