// The moves of the search with copies: those of runs (moves.h), and
//
// - away: a tensor that is kept across a run goes to the host instead; of some drawn ones that with the most bytes
//   and time in between; or the same in all equal blocks; or with as much waiting as its copies need;
// - here: one that is away is kept;
// - a rerun is removed, and what it made is away until the next use; and back: what is away is made again;
// - a wait before a run that is over the budget, for the copies to get on; a wait is removed, or halved;
// - compounds of these.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/solvers/annealing/moves.h"
#include "core/solvers/annealing/planned_copies.h"

namespace rematlas::annealing {

class AwayMoves {
  public:
    using Node = RunProfile::Node;

    /// All must outlive the moves. `repeats` knows the ops of the problem.
    AwayMoves(const CopyGraph& graph, RunProfile& profile, PlannedCopies& copies, Random& random,
              const Repeats* repeats);

    /// Makes one random move. False: nothing was changed, or the move was given up halfway: the profile is to be
    /// taken back either way. The copies are not settled afterwards.
    bool propose(const Acceptance& acceptance);

    bool send_away_over();  ///< a tensor that is kept across a run over the budget
    bool send_away_in_equal_blocks();
    bool keep_here();
    bool rerun_to_away();
    bool away_to_rerun();
    bool wait_for_copies();  ///< a tensor is away, or goes, and both ends of its gap wait for the copies
    bool wait();
    bool wait_less();

  private:
    struct Gap {
        int tensor = -1;
        Node use = RunProfile::kNone;
    };

    bool propose_repair(const Acceptance& acceptance);
    bool propose_improvement(const Acceptance& acceptance);
    Node over_run();
    std::optional<Gap> gap_across(Node run);
    std::optional<RunProfile::AwayId> any_away();
    bool must_be_away(RunProfile::AwayId id) const;
    std::optional<RunProfile::AwayId> late_across(Node run);
    void wait_before(Node run, std::int64_t time);
    RunProfile::AwayId send(Gap gap);
    void bring_home(const CopyGraph::Resident& resident);
    void send_twins(Gap gap);

    const CopyGraph& graph_;
    RunProfile& profile_;
    PlannedCopies& copies_;
    Random& random_;
    const Repeats* repeats_;
    Moves moves_;
    std::vector<int> leaving_;  ///< tensors that may leave
};

}  // namespace rematlas::annealing
