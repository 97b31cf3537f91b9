// One level of a training step's blocks: the order in which the blocks run, each with one of its options. The
// blocks of a level are the children of one block (the parent) or of the whole step. block_option.h explains
// which tensors a block is given, passes on and receives.
//
//     Level level(whole, blocks, parent);
//     LevelSchedule schedule = level.once(choice);
//     level.cost_of(schedule, budget);         // from the costs of the options; never below the exact peak
//     level.lowered(schedule);                 // the runs of the whole graph's ops
#pragma once

#include <cstdint>
#include <vector>

#include "core/solvers/hierarchical/block_option.h"

namespace rematlas::hierarchical {

/// A block with its options. The runs of the options are ops of the block's subproblem.
struct LevelBlock {
    const Subproblem* block;
    const BlockOptions* options;
};

/// One run of a block: forward without saving (`advance`), forward with the chosen option (`save`), or
/// backward. The visit `outside` stands for all ops that run between the forward and backward parts of the
/// parent.
struct Visit {
    enum class Kind : std::uint8_t { advance, save, backward, outside };
    std::int32_t block = 0;  ///< for `outside`: the number of blocks
    Kind kind = Kind::advance;
    bool operator==(const Visit&) const = default;
};

/// A schedule saves each block once, and later runs the block's backward once. A block may advance any number
/// of times before its backward visit. Exception: a block must never advance if its forward part has an op
/// that may run only once and whose output is read.
struct LevelSchedule {
    std::vector<Visit> visits;
    std::vector<std::int32_t> option;  ///< by block: the index of its option
};

struct LevelCost {
    bool executable = true;             ///< false if a visit lacks a tensor that it reads, or if its kind is
                                        ///< not allowed at its place; the other fields are then meaningless
    std::int64_t time = 0;              ///< ns
    std::int64_t peak = 0, excess = 0;  ///< bytes; `excess` is the sum over all visits of their bytes above
                                        ///< the budget
};

class Level {
  public:
    /// `parent` is the subproblem of all the blocks together; its op `outside` runs in the middle. `parent`
    /// is null if the blocks are the whole step. All arguments must outlive the level.
    Level(const FlatGraph& whole, std::vector<LevelBlock> blocks, const Subproblem* parent);

    int size() const { return static_cast<int>(blocks_.size()); }
    const std::vector<BlockOption>& options(int block) const { return blocks_[block].options->options; }

    /// Returns the schedule that saves all blocks in order and then runs their backwards in reverse order.
    LevelSchedule once(std::vector<std::int32_t> option) const;

    /// Sets the workspace of the visit `outside`: the bytes that it takes in addition to the tensors that it
    /// reads and makes. The larger the workspace, the fewer bytes the level can save within a budget.
    void set_workspace(std::int64_t bytes);

    /// Returns time and bytes of a schedule. The bytes do not include the residents, nor the tensors that the
    /// parent is given. The peak is never below the exact peak of the runs (`lowered`). Cost: linear in the
    /// tensors that the visits read and make.
    LevelCost cost_of(const LevelSchedule& schedule, std::int64_t budget) const;

    /// Returns only the time of `cost_of`, in ns. Cost: linear in the visits.
    std::int64_t time_of(const LevelSchedule& schedule) const;

    /// Returns the runs of a schedule as ops of the whole graph, with -1 for `outside`. Ops that may run only
    /// once run at the first visit of their block.
    RunSequence lowered(const LevelSchedule& schedule) const;

    // The level's integer program (level_model.h) uses the functions from here on. Tensors of the level have
    // their own ids, from 0. Tensors that are read and made by the same visits, whatever the options, count
    // as one tensor.
    /// The tensors that a visit reads and makes.
    struct Interface {
        std::vector<std::int32_t> reads, makes;
    };
    /// Says whether the block must never advance: its forward part has an op that may run only once and whose
    /// output is read.
    bool runs_forward_once(int block) const { return runs_forward_once_[block]; }
    /// Returns the bytes of the results that no op reads and whose makers may run only once. These bytes
    /// count at every visit.
    std::int64_t always_bytes() const { return always_bytes_; }
    bool has_outside() const { return parent_ != nullptr; }
    int tensor_count() const { return static_cast<int>(bytes_.size()); }
    std::int64_t bytes(int tensor) const { return bytes_[tensor]; }
    std::int64_t workspace() const { return workspace_; }
    const std::vector<std::int32_t>& results() const { return results_; }
    /// Returns the block whose forward part makes the tensor, or -1 if a backward visit or the visit
    /// `outside` makes it.
    int maker(int tensor) const { return maker_[tensor]; }
    const Interface& forward(int block) const { return interfaces_[block].forward; }
    const Interface& backward(int block, int option) const { return interfaces_[block].backward[option]; }
    const Interface& outside() const { return outside_; }
    const BlockOption& advance(int block) const { return blocks_[block].options->advance; }
    /// Returns the bytes that a block takes while it runs backward, without the tensors of the level and the
    /// saved bytes of all blocks.
    std::int64_t backward_bytes(int block, int option) const {
        return options(block)[option].backward_peak - interfaces_[block].counted[option];
    }

    /// Returns the blocks whose tensors the forward part of `block` reads, in ascending order.
    const std::vector<std::int32_t>& makers_of(int block) const { return makers_[block]; }

  private:
    struct BlockInterface {
        Interface forward;
        std::vector<Interface> backward;    ///< by option
        std::vector<std::int64_t> counted;  ///< by option: the part of the backward peak that the level
                                            ///< counts already
    };

    /// The costs of a visit.
    struct Play {
        std::int32_t first_read = 0, first_made = 0, end = 0;  ///< indices into `touched_`
        std::int64_t time = 0;                                 ///< ns
        std::int64_t bytes = 0;                                ///< bytes that the visit takes in addition
                                                               ///< to the bytes held before it
        std::int64_t saved = 0;                                ///< bytes that the visit saves; negative if it
                                                               ///< frees saved bytes
    };

    std::int32_t number(std::int32_t tensor);
    BlockInterface interface_of(const LevelBlock& block);
    void find_ops_that_run_once();
    void merge_alike();
    void lay_out();
    const Play& play(const Visit& visit, const LevelSchedule& schedule) const;

    const FlatGraph& whole_;
    const std::vector<LevelBlock> blocks_;
    const Subproblem* parent_;
    std::vector<std::int32_t> number_;  ///< by tensor of the whole graph: its id in the level, or -1
    std::vector<std::int32_t> maker_;   ///< by tensor of the level: see `maker`
    std::vector<std::int64_t> bytes_;   ///< by tensor of the level
    std::vector<std::int32_t> results_;
    std::vector<BlockInterface> interfaces_;
    Interface outside_;
    std::vector<std::vector<std::int32_t>> makers_;
    std::vector<std::uint8_t> runs_forward_once_;  ///< by block
    std::int64_t always_bytes_ = 0;
    std::int64_t workspace_ = 0;
    std::vector<std::int32_t> touched_;  ///< tensors that visits read or make
    std::vector<Play> plays_;  ///< for each block: its advance visit, then by option its save visit and its
                               ///< backward visit; `outside` comes last
    std::vector<std::int32_t> first_play_;  ///< by block, then for `outside`: index into `plays_`
    // Buffers of `cost_of`.
    mutable std::vector<const Play*> playing_;
    mutable std::vector<std::uint8_t> next_, kept_, made_, done_;
};

}  // namespace rematlas::hierarchical
