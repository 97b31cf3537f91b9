// The moves of the search. A move edits a run sequence and keeps it executable, but not always within the
// budget.
//
// - evict a tensor in the gap before a use: the tensor is no longer kept until the use. Instead its producer,
//   and the ops that the producer needs, are rerun right before the use. Runs that have become useless are
//   removed;
// - remove a rerun: the earlier outputs of the op are kept instead. Runs that were only needed for this rerun
//   are removed, too;
// - shift a run: the op runs at another place (this also changes the order of ops that run once). The run is
//   shifted alone, or with the makers of its inputs, or with the users of its outputs;
// - combinations of these: an eviction after a removal that exceeded the budget, or a removal after an
//   eviction that freed memory;
// - exchange in all equal blocks at once: in each block a rerun is removed, then a tensor is evicted.
//
// Candidates are chosen by tournaments: of a few random candidates, the one with the best ratio of time to
// bytes wins.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/solvers/annealing/random.h"
#include "core/solvers/annealing/repeats.h"
#include "core/solvers/annealing/run_profile.h"

namespace rematlas::annealing {

/// The greatest cost that a move may have: after the move, the sequence takes at most `time`, plus
/// `time_per_byte` for each byte of excess that the move saved. Times are in ns.
struct Acceptance {
    std::int64_t time = std::numeric_limits<std::int64_t>::max();
    double time_per_byte = 0;
};

class Moves {
  public:
    using Node = RunProfile::Node;

    /// All arguments must outlive this object. Without `repeats`, there are no moves in all equal blocks at
    /// once. If `first_op` is not -1, its run stays before all other runs.
    Moves(const FlatGraph& graph, RunProfile& profile, Random& random, const Repeats* repeats = nullptr,
          int first_op = -1);

    /// Makes one random move. The kinds of moves depend on whether the profile exceeds its budget. Returns
    /// false if nothing was changed, or if the move was abandoned because its cost exceeds `acceptance`. The
    /// caller must then undo the changes of the profile.
    bool propose(const Acceptance& acceptance = {});

    // The parts of moves. Functions that return `bool` return false if they changed nothing or gave up.
    bool evict_gap(int tensor,
                   std::size_t use);  ///< `use`: index of the use in events(tensor); not 0
    bool evict_at(Node run);          ///< evicts a tensor that is kept during a run
    bool run_in_place(Node run);      ///< evicts kept inputs, so that the run can overwrite them
    bool evict_somewhere();
    bool remove_rerun();
    std::optional<Node> removable_rerun();
    /// Removes `run`, which must be removable, and the runs that were needed only for it.
    void remove_cascade(Node run);
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
    std::vector<int> evictable_;        ///< tensors with bytes whose producers may run again
    std::vector<double> removal_gain_;  ///< by op: time divided by the bytes of the outputs
    Acceptance acceptance_;
    std::int64_t most_time_ = 0;  ///< limit on the time of the sequence after the current eviction, ns
    std::vector<int> plan_;       ///< ops that the current eviction reruns, in order
    /// Time in ns that the current eviction adds: the time of the planned reruns and of those whose inputs
    /// are still being planned, minus the time of the runs that become useless.
    std::int64_t planned_time_ = 0;
    std::uint32_t plan_count_ = 0;
    std::vector<std::uint32_t> planned_;  ///< by op: `plan_count_` of the last plan that reruns it
    std::vector<std::uint32_t> kept_;     ///< by tensor: `plan_count_` of the last plan in which it is kept
    bool given_up_ = false;               ///< whether the schedule after the current move takes too long
    bool evicts_alone_ = false;           ///< whether the current move is only one eviction
};

}  // namespace rematlas::annealing
