// An incremental memory profile: a run sequence that can be edited run by run, with its exact memory kept up
// to date.
//
//     RunProfile profile(graph, budget, keep_all_sequence(graph));
//     profile.insert(op, before);      // rerun op right before another run
//     profile.remove(node);
//     profile.undo();                  // back to the last commit()
//
// Tensors have the lifetimes that `cost_of` describes. The events of a tensor are the runs of its producer,
// its uses, and for results the end. Between two consecutive events (a gap) a tensor is alive if and only if
// the second event is a use. At its own events a tensor is always counted. So an edit changes memory only in
// the gaps that it splits or joins.
//
// In a gap before a use, a tensor can also be *away*: offloaded, with a copy on the host (`set_away`). Its
// bytes are then not counted during some runs of the gap. The caller knows how long copies take, and sets
// which runs these are (`move_away`; planned_copies.h). An edit splits and joins such gaps like all other
// gaps. A new use reads the copy from the host. A new run of the producer makes the copy unnecessary.
//
// The runs are stored in blocks of some dozens of runs. Each block stores an offset, which is added to the
// memory of all its runs, and the maximum and the excess of its runs. An edit changes the runs of the blocks
// at the ends of a gap. Of a block in between, an edit changes only the offset, unless the block exceeds the
// budget. Cost of an edit: O(tensors of the op * (block size + number of blocks)).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"

namespace rematlas::annealing {

class RunProfile {
  public:
    /// The handle of a run. It is valid until the run is removed, and again after the removal is undone.
    using Node = std::int32_t;
    /// The end of the step. It counts as a use of all results.
    static constexpr Node kEnd = 0;
    static constexpr Node kNone = -1;

    /// `runs` must be executable. The graph must outlive the profile.
    RunProfile(const FlatGraph& graph, std::int64_t budget, std::span<const std::int32_t> runs);

    /// Starts again from another sequence, with another budget. Earlier edits cannot be undone.
    void reset(std::int64_t budget, std::span<const std::int32_t> runs);

    // The cost of the sequence.
    std::int64_t time() const { return time_; }
    /// Returns the sum over all runs of the bytes above the budget. Cost: linear in the runs of the changed
    /// blocks that are or were above the budget.
    std::int64_t excess() const {
        settle();
        return excess_;
    }
    std::int64_t peak() const;  ///< cost: O(number of blocks)
    std::int64_t budget() const { return budget_; }
    std::int64_t memory(Node run) const;         ///< bytes held during the run
    std::int64_t memory_before(Node run) const;  ///< bytes held right before the run; for kEnd, at the end
    RunSequence sequence() const;

    // The runs.
    std::size_t size() const { return size_; }
    int op(Node run) const { return places_[run].op; }  ///< -1 for kEnd
    Node next(Node run) const;                          ///< kEnd for the last run
    Node previous(Node run) const;                      ///< kNone for the first run; for kEnd, the last run
    bool before(Node a, Node b) const { return key(a) < key(b); }
    /// Says whether the run is in place, and so saves bytes.
    bool in_place(Node run) const { return places_[run].in_place; }
    std::span<const Node> runs_of(int op) const { return runs_of_[op]; }
    std::span<const Node> repeated() const { return repeated_; }  ///< runs of all ops that run twice or more
    int over_count() const {                                      ///< number of runs above the budget
        settle();
        return over_;
    }
    Node over_run(int k) const;  ///< the k-th run above the budget; cost: O(number of blocks + block size)

    // The events of a tensor, in order.
    std::span<const Node> events(int tensor) const { return events_[tensor]; }
    bool is_use(int tensor, Node event) const { return places_[event].op != graph_.producer[tensor]; }
    std::size_t index_of(int tensor, Node event) const;  ///< `event` must be an event of the tensor
    std::size_t first_at_or_after(int tensor,
                                  Node run) const;  ///< index in events(); its size if there is none
    bool alive_before(int tensor, Node run) const;  ///< whether the tensor is alive or away before `run`

    /// Returns the most bytes held by any run strictly between `after` and `before`; 0 if there are none.
    std::int64_t most_between(Node after, Node before) const;

    /// Returns an upper bound on how much the excess falls if each run strictly between `after` and `before`
    /// holds `bytes` less: the sum over these runs of the bytes above the budget, but at most `bytes` for
    /// each run. Cost: O(number of blocks + block size).
    std::int64_t excess_between(Node after, Node before, std::int64_t bytes) const;

    /// Says whether the run has no effect: no output of the run is used before it is made again, and the op
    /// is not required or has another run.
    bool is_useless(Node run) const;

    /// Says whether the run can be removed: outputs that are used after the run must have an earlier run, and
    /// a required op must keep one run.
    bool can_remove(Node run) const;

    /// `insert` keeps the sequence executable if each input has an event before `before` and the op may run,
    /// or run again; `remove` keeps it executable if `can_remove` is true. An op that may run only once can
    /// have two runs between two calls: a move of the search inserts the op at its new place before it
    /// removes the old run.
    Node insert(int op, Node before);
    void remove(Node run);

    // The gaps in which tensors are away from the device.
    struct Away {
        int tensor = -1;   ///< -1 if the id is free
        Node use = kNone;  ///< use that ends the gap
        /// The tensor is not on the device from the run `first` until right before `behind`. If `behind` is
        /// kNone, the gap reaches the end of the step, and the tensor is also away at the end.
        Node first = kNone, behind = kNone;
        bool operator==(const Away&) const = default;
    };
    using AwayId = std::int32_t;
    std::span<const Away> aways() const { return aways_; }  ///< index: id
    std::span<const AwayId> aways_of(int tensor) const { return aways_of_[tensor]; }
    AwayId away_before(int tensor, Node use) const;  ///< -1 if the tensor is not away before `use`
    /// Marks the tensor as away before `use`. It must not be away there yet. The tensor's bytes still count
    /// until `move_away`.
    AwayId set_away(int tensor, Node use);
    void set_here(AwayId away);
    /// Sets the runs during which the tensor is away. `first` and `behind` must come after the first event of
    /// the gap. `behind` must not come after the use, and `first` not after `behind`.
    void move_away(AwayId away, Node first, Node behind);

    /// Returns all runs in order, without kEnd.
    void list_runs(std::vector<Node>& runs) const;

    /// Makes all edits permanent: they can no longer be undone.
    void commit();
    /// Undoes all edits since the last commit.
    void undo();
    /// Returns the number of edits since the last commit.
    std::size_t edits() const { return journal_.size() + touched_.size(); }
    /// Says whether `run` was inserted after the last commit.
    bool is_new(Node run) const { return places_[run].born == commit_count_; }

  private:
    static constexpr std::int32_t kEndBlock = 0;
    static constexpr std::int32_t kLastRank = std::numeric_limits<std::int32_t>::max();
    struct Place {
        std::int32_t op = -1;
        std::int32_t block = 0;
        std::int32_t slot = 0;
        std::int32_t repeated_at = -1;  ///< index in `repeated_`; -1 if the run is not in it
        std::uint32_t born = 0;         ///< value of `commit_count_` at its insertion
        bool in_place = false;
    };
    struct Block {
        std::int64_t offset = 0;  ///< added to each stored memory
        std::int64_t most = 0;    ///< greatest stored memory, without the offset
        std::int64_t excess = 0;
        std::int32_t over = 0;
        std::int32_t count = 0;
        bool unsettled = false;  ///< whether `excess` and `over` are out of date
    };
    struct Edit {
        Node node;
        std::int32_t op;  ///< op of the removed run; -1 if the run was inserted
        Node successor;
    };
    /// The position of a run. A range from one position to another does not include the latter.
    struct Position {
        std::int32_t rank, slot;
    };

    std::uint64_t key(Node run) const {
        const Place& place = places_[run];
        return static_cast<std::uint64_t>(rank_[place.block]) << 32 | static_cast<std::uint32_t>(place.slot);
    }
    Position position(Node run) const { return {rank_[places_[run].block], places_[run].slot}; }
    Position after(Node run) const;
    template <class Whole, class Part>
    void visit(Node after, Node before, const Whole& whole, const Part& part) const;
    std::int64_t* stored(int block) { return memory_.data() + static_cast<std::size_t>(block) * capacity_; }
    const std::int64_t* stored(int block) const {
        return memory_.data() + static_cast<std::size_t>(block) * capacity_;
    }
    Node* nodes(int block) { return block_nodes_.data() + static_cast<std::size_t>(block) * capacity_; }
    const Node* nodes(int block) const {
        return block_nodes_.data() + static_cast<std::size_t>(block) * capacity_;
    }

    Node do_insert(int op, Node before);
    void do_remove(Node run);
    void add(Position from, Position to, std::int64_t bytes);
    void add_whole(int block, std::int64_t bytes);
    void add_part(int block, int from, int to, std::int64_t bytes);
    void measure_most(int block);
    void measure_excess(int block) const;
    void unsettle(int block);
    void settle() const;
    void update_in_place(Node run);
    void update_in_place_before(int tensor, std::size_t event);

    void fill(AwayId away, std::int64_t sign);
    void touch(AwayId away);
    void open(AwayId away, const Away& as);
    void close(AwayId away);
    void mark_edges(const Away& away, int by);
    bool has_edges(Node run) const { return edges_[run] > 0; }
    std::vector<Away> close_across(int op, Node run);
    void reopen_beside(const Away& away, Node run);
    void forget_aways();
    void join_away(int tensor, std::size_t event);
    void shift_edges(Node from, Node to);
    void restore_aways();
    Position before_or_end(Node run) const;

    int new_block(std::size_t at_rank);
    void drop_block(int block);
    void split(int block);
    void place_node(Node run, Node before, std::int64_t memory);
    void unplace_node(Node run);
    Node allocate();
    void note_run(Node run);
    void forget_run(Node run);
    void load(std::span<const std::int32_t> runs);

    const FlatGraph& graph_;
    std::int64_t budget_ = 0;
    std::int64_t time_ = 0;
    // Several edits often change the same blocks, so the bytes above the budget are only counted when they
    // are needed.
    mutable std::int64_t excess_ = 0;
    mutable std::int32_t over_ = 0;
    mutable std::vector<std::int32_t> unsettled_;  ///< block ids
    std::size_t size_ = 0;
    std::int64_t end_memory_ = 0;  ///< bytes at the end: residents, and results that are not away

    std::int32_t capacity_ = 64;  ///< greatest number of runs in a block
    std::vector<Place> places_;   ///< by node; node 0 is kEnd
    std::vector<Node> free_nodes_;
    mutable std::vector<Block> blocks_;  ///< by block id; block 0 belongs to kEnd and is never used
    std::vector<std::int32_t> free_blocks_;
    std::vector<std::int32_t> order_;  ///< block ids in order
    std::vector<std::int32_t> rank_;   ///< the inverse of `order_`
    std::vector<std::int64_t> memory_;
    std::vector<Node> block_nodes_;

    std::vector<std::vector<Node>> events_;   ///< by tensor
    std::vector<std::vector<Node>> runs_of_;  ///< by op
    std::vector<Node> repeated_;

    std::vector<std::int64_t> own_bytes_;     ///< by op: outputs and workspace
    std::vector<std::int64_t> saved_;         ///< by op: bytes that its in-place pairs save together
    std::vector<std::uint8_t> overwritable_;  ///< by tensor: whether it is the input of an in-place pair
    std::vector<Away> aways_;
    std::vector<AwayId> free_aways_;
    std::vector<std::vector<AwayId>> aways_of_;  ///< by tensor
    std::vector<std::int32_t> edges_;            ///< by node: how many gaps begin or end there
    std::vector<Away> committed_;  ///< by id: the gap at the last commit, if an edit has changed it since
    std::vector<AwayId> touched_;
    std::vector<std::uint8_t> is_touched_;  ///< by id: whether an edit has changed the gap
    std::vector<Edit> journal_;
    std::uint32_t commit_count_ = 1;
};

}  // namespace rematlas::annealing
