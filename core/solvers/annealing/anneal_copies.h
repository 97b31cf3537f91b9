// Simulated annealing of a run sequence and of the gaps in which tensors are away from the device.
//
// As anneal.h, with gaps in which tensors are away and with runs that wait (away_moves.h). A model in which
// nothing waits by itself judges each state (planned_copies.h). A small price of copies is added to the
// time; it keeps pointless copies out. A state that the model finds better than all before is written out
// step by step and played exactly. It does not count if the player refuses it or it is over the budget.
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
    bool contended = false;  ///< whether copies to the host are assumed to have the contended speed
    double price = 0.01;     ///< of copies, as a share of the time that they take
    std::uint64_t seed = 1;
    const Repeats* repeats = nullptr;
};

class CopyAnnealer {
  public:
    /// Called with each played schedule that is better than all before; returning false stops the search.
    using Report = std::function<bool(const Solution& best)>;

    /// `problem`, `graph`, `options` and the repeats of `task` must outlive the annealer.
    CopyAnnealer(const Problem& problem, const CopyGraph& graph, const CopyState& start,
                 const CopyAnnealing& task, const AnnealingOptions& options);

    /// Sends tensors away, and lets runs wait for copies, as long as that reduces the bytes over the budget.
    /// Returns whether the state then fits the budget.
    bool make_room(const Deadline& deadline);

    /// Runs one cycle from the best state: the best of those that could be played, or of all that were seen
    /// as long as none could be played. Returns false if the deadline or the report stopped the cycle.
    bool run_cycle(std::uint64_t moves, double heat, const Deadline& deadline, const Report& report);

    const std::optional<Solution>& best() const { return best_; }
    /// The state that `best` was played from, or the best state that was seen if there is no `best`.
    const CopyState& best_state() const { return best_state_; }
    /// The peak of `best`, or of the state nearest to the budget if there is no `best`. Empty if the copies
    /// of that state come too late or the host has no room for them.
    std::optional<Bytes> smallest_peak();
    /// A number to compare lanes by, of which a smaller one is better: the overhead of the best answer. A
    /// lane without an answer comes behind all lanes with one, and its number says how near it is to an
    /// answer.
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
    double best_value_;  ///< the model's least value within the budget in this cycle
    double rank_;        ///< the model's least value; states over the budget rank behind
    std::optional<Solution> best_;
    double time_scale_, excess_scale_;  ///< 1 / base time, 1 / budget
    Penalty penalty_;
    double temperature_ = 0;
    std::uint64_t moves_ = 0;
    bool improved_ = false;
};

}  // namespace rematlas::annealing
