// One level of a training step's blocks: the order in which its blocks run, each with one of its options.
//
//     Level level(whole, blocks, parent);
//     LevelSchedule schedule = level.once(choice);
//     level.cost_of(schedule, budget);         // from what the options cost: not below the exact peak
//     level.lowered(schedule);                 // the runs of the whole graph's ops
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/solvers/hierarchical/block_option.h"

namespace rematlas::hierarchical {

/// A block with its options, which are written in the block's own numbers.
struct LevelBlock {
    const Subproblem* block;
    const BlockOptions* options;
};

/// A block runs: forward without saving, forward with its option, or backward. `outside`: what runs elsewhere
/// between the forward and the backward part of the level.
struct Visit {
    enum class Kind : std::uint8_t { advance, save, backward, outside };
    std::int32_t block = 0;  ///< of `outside`: the number of blocks
    Kind kind = Kind::advance;
    bool operator==(const Visit&) const = default;
};

/// Each block is saved once and runs backward once, in this order; it may advance any number of times before
/// that, unless something in it that is read must not run twice.
struct LevelSchedule {
    std::vector<Visit> visits;
    std::vector<std::int32_t> option;  ///< by block: of its options
};

struct LevelCost {
    bool executable = true;             ///< false: a visit lacks what it reads; the rest means nothing then
    std::int64_t time = 0;              ///< ns
    std::int64_t peak = 0, excess = 0;  ///< bytes; the sum over the visits of those above the budget
};

class Level {
  public:
    /// `parent`: the subproblem of all the blocks together, whose `outside` runs in the middle; null where
    /// they are the whole step. All must outlive the level.
    Level(const FlatGraph& whole, std::vector<LevelBlock> blocks, const Subproblem* parent);

    int size() const { return static_cast<int>(blocks_.size()); }
    const std::vector<BlockOption>& options(int block) const { return blocks_[block].options->options; }

    /// Each block forward with its option, then each backward.
    LevelSchedule once(std::vector<std::int32_t> option) const;

    /// What `outside` holds beside what it reads and makes: a limit on what the level saves.
    void set_workspace(std::int64_t bytes);

    /// Bytes leave out residents and what the parent is given. The peak is not below that of the lowered runs.
    /// Cost: linear in what the visits read and make.
    LevelCost cost_of(const LevelSchedule& schedule, std::int64_t budget) const;

    /// The time of `cost_of` alone, ns. Cost: linear in the visits.
    std::int64_t time_of(const LevelSchedule& schedule) const;

    /// Ops of the whole graph; -1 for `outside`. Ops that may run only once run at the first visit.
    RunSequence lowered(const LevelSchedule& schedule) const;

    // What the level's programme (level_model.h) is made of. Tensors are numbered from 0; those that the same
    // visits read and make, whatever the options, are one.
    /// What a visit reads and makes.
    struct Interface {
        std::vector<std::int32_t> reads, makes;
    };
    /// It may not advance: an op that runs once makes something there that is read.
    bool runs_forward_once(int block) const { return runs_forward_once_[block]; }
    /// Results of ops that run once and that nothing reads: counted all along.
    std::int64_t always_bytes() const { return always_bytes_; }
    bool has_outside() const { return parent_ != nullptr; }
    int tensor_count() const { return static_cast<int>(bytes_.size()); }
    std::int64_t bytes(int tensor) const { return bytes_[tensor]; }
    std::int64_t workspace() const { return workspace_; }
    const std::vector<std::int32_t>& results() const { return results_; }
    /// The block that passes a tensor on; -1: a backward visit or `outside` makes it.
    int maker(int tensor) const { return maker_[tensor]; }
    const Interface& forward(int block) const { return interfaces_[block].forward; }
    const Interface& backward(int block, int option) const { return interfaces_[block].backward[option]; }
    const Interface& outside() const { return outside_; }
    const BlockOption& advance(int block) const { return blocks_[block].options->advance; }
    /// Bytes while a block runs backward, beside all tensors of the level and what other blocks save.
    std::int64_t backward_bytes(int block, int option) const {
        return options(block)[option].backward_peak - interfaces_[block].counted[option];
    }

    /// Blocks of the level that pass on what this one reads forward, ascending.
    const std::vector<std::int32_t>& makers_of(int block) const { return makers_[block]; }

  private:
    struct BlockInterface {
        Interface forward;
        std::vector<Interface> backward;    ///< by option
        std::vector<std::int64_t> counted;  ///< by option: in its backward peak, and held by the level
    };

    /// What a visit costs.
    struct Play {
        std::int32_t first_read = 0, first_made = 0, end = 0;  ///< of `touched_`
        std::int64_t time = 0;                                 ///< ns
        std::int64_t bytes = 0;                                ///< beside what is there before it
        std::int64_t saved = 0;                                ///< bytes that it leaves, or takes away
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
    std::vector<std::int32_t> number_;  ///< by tensor of the whole graph: of the level, -1
    std::vector<std::int32_t> maker_;   ///< by tensor of the level: block that passes it on, or -1
    std::vector<std::int64_t> bytes_;   ///< by tensor of the level
    std::vector<std::int32_t> results_;
    std::vector<BlockInterface> interfaces_;
    Interface outside_;
    std::vector<std::vector<std::int32_t>> makers_;
    std::vector<std::uint8_t> runs_forward_once_;  ///< by block
    std::int64_t always_bytes_ = 0;
    std::int64_t workspace_ = 0;
    std::vector<std::int32_t> touched_;  ///< tensors that visits read and make
    std::vector<Play> plays_;  ///< of each block advance, then save and backward by option; `outside`
    std::vector<std::int32_t> first_play_;  ///< by block, and of `outside`
    // Of `cost_of`.
    mutable std::vector<const Play*> playing_;
    mutable std::vector<std::uint8_t> next_, kept_, made_, done_;
};

}  // namespace rematlas::hierarchical
