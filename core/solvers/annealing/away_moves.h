// The moves of the search with copies: the moves of runs (moves.h), and these moves of tensors and waits:
//
// - away: a tensor that is kept during a run which does not use it is offloaded instead. Of a few random
//   tensors, the one with the largest bytes * idle time is taken. The move can also be made in all equal
//   blocks at once, or together with waits for the copies;
// - here: a tensor that is away is kept instead;
// - a rerun is removed, and its outputs are away until their next use; or the reverse: a tensor that is away
//   is recomputed instead;
// - a wait is put before a run that exceeds the budget, so that copies can progress; or a wait is removed or
//   halved;
// - combinations of these moves.
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

    /// All arguments must outlive this object. `repeats` groups the ops of the problem; it may be null.
    AwayMoves(const CopyGraph& graph, RunProfile& profile, PlannedCopies& copies, Random& random,
              const Repeats* repeats);

    /// Makes one random move. Returns false if nothing was changed or the move was abandoned; the caller must
    /// then undo the changes of the profile. After a move the caller must call `PlannedCopies::settle`.
    bool propose(const Acceptance& acceptance);

    bool send_away_over();  ///< offloads an unused tensor during a run that is over the budget
    bool send_away_in_equal_blocks();
    bool keep_here();
    bool rerun_to_away();
    bool away_to_rerun();
    bool wait_for_copies();  ///< delays runs until the copies of an old or new gap are done
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
    std::vector<int> leaving_;  ///< tensors that may be offloaded
};

}  // namespace rematlas::annealing
