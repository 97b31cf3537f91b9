// The moves of the search: edits of a run sequence that keep it executable, whatever they do to its memory.
//
// - evict a gap: a tensor is not kept until a use, its producer is rerun right before it, with whatever that
//   needs; runs that serve nothing any more are removed;
// - remove a rerun: the earlier copy is kept instead; runs that served only this one are removed too;
// - shift a run: the same op at another place (this changes the order of ops that run once, as well),
//   alone or with the makers of what it reads, or the users of what it makes, one after another;
// - compounds of these: make room where a removal went over the budget, or spend the room that an eviction
//   made;
// - in all equal blocks at once: a rerun is removed, then a tensor evicted, in each block that has them.
//
// Draws are tournaments: of a few random candidates, the one with the best ratio of time to bytes wins.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/solvers/annealing/random.h"
#include "core/solvers/annealing/repeats.h"
#include "core/solvers/annealing/run_profile.h"

namespace rematlas::annealing {

/// The cost up to which a move is of use: the time of the sequence after the move may be at most `time`, and
/// higher by `time_per_byte` for each byte of excess that the move saved. Times are in ns.
struct Acceptance {
    std::int64_t time = std::numeric_limits<std::int64_t>::max();
    double time_per_byte = 0;
};

class Moves {
  public:
    using Node = RunProfile::Node;

    /// All arguments must outlive the moves. Without `repeats` no move is made in equal blocks. The run of
    /// `first_op`, where there is one, stays before all others.
    Moves(const FlatGraph& graph, RunProfile& profile, Random& random, const Repeats* repeats = nullptr,
          int first_op = -1);

    /// Makes one random move, from a mix that depends on whether the profile is over its budget. Returns
    /// false if nothing was changed, or if the move was given up halfway because the caller would not accept
    /// it. The caller must undo the changes of the profile in both cases.
    bool propose(const Acceptance& acceptance = {});

    // The parts, each returning whether it changed anything.
    bool evict_gap(int tensor,
                   std::size_t use);  ///< `use` indexes events(tensor), is a use, and has an event before it
    bool evict_at(Node run);          ///< evicts a tensor that is kept across a run
    bool run_in_place(Node run);      ///< evicts the inputs that it could write over if they were not kept
    bool evict_somewhere();
    bool remove_rerun();
    std::optional<Node> removable_rerun();
    void remove_cascade(Node run);  ///< also removes runs that only it needed; `run` must be removable
    bool shift(Node run);
    bool exchange_in_equal_blocks();

  private:
    struct Gap {
        int tensor = -1;
        std::size_t use = 0;
    };

    bool propose_repair();
    bool propose_improvement();
    bool remove_then_evict(int most_evictions);
    bool evict_then_remove();
    bool evict_over();
    bool shift_rerun();
    bool shift_any();
    bool shift_group();
    void bring_makers(Node run, int depth);
    void bring_users(Node run, int depth);
    Node move(Node run, Node target);
    void remove_twins(int op);
    void evict_twins(Gap gap);
    std::optional<Gap> gap_before(int tensor, int user) const;
    std::optional<Gap> gap_across(Node run);
    Node random_run();
    int tournament_size();

    void limit_time(std::int64_t saved_at_most);
    bool plan_rerun(int op, Node before, int depth);
    bool prefers_keeping(int tensor, Node last_event, Node before);
    std::int64_t time_served(Node run, Node user, int depth) const;
    bool serves_only(Node run, Node user) const;
    std::optional<Node> shift_target(Node run);
    bool is_behind_boundary(Node before) const;
    bool may_not_run_again(int op, Node before) const;
    bool would_read_old_copy(int op, Node before) const;
    Node first_reader_behind(int tensor) const;
    bool can_move(Node run, Node target) const;
    double eviction_time(int tensor, Node before) const;

    const FlatGraph& graph_;
    RunProfile& profile_;
    Random& random_;
    const Repeats* repeats_;
    const int first_op_;
    std::vector<int> evictable_;        ///< tensors with bytes whose producer may run again
    std::vector<double> removal_gain_;  ///< by op: time over output bytes
    Acceptance acceptance_;
    std::int64_t most_time_ = 0;     ///< longest sequence that the current eviction may lead to, ns
    std::vector<int> plan_;          ///< ops that the current eviction reruns, in order
    std::int64_t planned_time_ = 0;  ///< of these runs and those that wait for them, less the replaced runs,
                                     ///< ns
    std::uint32_t plan_count_ = 0;
    std::vector<std::uint32_t> planned_;  ///< by op: the last plan that reruns it
    std::vector<std::uint32_t> kept_;     ///< by tensor: the last plan for which it is kept
    bool given_up_ = false;               ///< the current move takes too long
    bool evicts_alone_ = false;           ///< the current move is one eviction
};

}  // namespace rematlas::annealing
