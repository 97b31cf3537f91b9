// Simulated annealing of a run sequence together with the gaps in which tensors are away from the device
// (offloaded, with a copy on the host).
//
// Like anneal.h, but a state is a run sequence with gaps and with waits before runs (away_moves.h). A fast
// model of the copies gives the time of each state (planned_copies.h). In this model, a run waits only if a
// wait was inserted. A small price for each copy is added to the time, to prevent useless copies. If a state
// is better in the model than all earlier states, its schedule is written and simulated exactly. The schedule
// does not count as an answer if the simulator refuses it or if it exceeds the budget.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

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
    bool contended = false;  ///< whether copies to the host have the contended speed in the model
    double price = 0.01;     ///< added to the time of a state, as a share of the time of its copies
    std::uint64_t seed = 1;
    const Repeats* repeats = nullptr;
};

class CopyAnnealer {
  public:
    /// Called with the best simulated schedule when there is a new one. The search stops if the function
    /// returns false.
    using Report = std::function<bool(const Solution& best)>;

    /// `problem`, `graph`, `options` and the repeats of `task` must outlive the annealer.
    CopyAnnealer(const Problem& problem, const CopyGraph& graph, const CopyState& start,
                 const CopyAnnealing& task, const AnnealingOptions& options);

    /// Offloads tensors, and delays runs until copies are done, as long as this reduces the bytes over the
    /// budget. Returns whether the state then fits the budget.
    bool make_room(const Deadline& deadline);

    /// Runs one cycle from `best_state`. Returns false if the deadline or the report stopped the cycle.
    bool run_cycle(std::uint64_t moves, double heat, const Deadline& deadline, const Report& report);

    const std::optional<Solution>& best() const { return best_; }
    /// The state from which `best` was made; if there is no `best` yet, the best of all states.
    const CopyState& best_state() const { return best_state_; }
    /// Returns the peak of `best`; if there is no `best`, the peak of the state nearest to the budget.
    /// Returns `std::nullopt` if the copies of that state come too late or do not fit on the host.
    std::optional<Bytes> smallest_peak();
    /// Returns a number by which annealers are compared; smaller is better. If there is an answer, the number
    /// is the overhead of the best answer. Otherwise the number is larger than any overhead, and falls as the
    /// annealer gets nearer to an answer.
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
    void step();
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
    double best_value_;  ///< in this cycle, the least `value` of the states that fit the budget in the model
    double rank_;        ///< least `value` of all states, increased for states that exceed the budget
    std::optional<Solution> best_;
    double time_scale_, excess_scale_;  ///< 1 / base time, 1 / budget
    Penalty penalty_;
    double temperature_ = 0;
    std::uint64_t moves_ = 0;
    bool improved_ = false;
};

}  // namespace rematlas::annealing
