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

/// A block with its options, whose runs are ops of the block's own subproblem.
struct LevelBlock {
    const Subproblem* block;
    const BlockOptions* options;
};

/// One run of a block: forward without saving (`advance`), forward with its option (`save`), or backward.
/// `outside` stands for all that runs elsewhere between the forward and the backward part of the level.
struct Visit {
    enum class Kind : std::uint8_t { advance, save, backward, outside };
    std::int32_t block = 0;  ///< for `outside`: the number of blocks
    Kind kind = Kind::advance;
    bool operator==(const Visit&) const = default;
};

/// Each block is saved once and runs backward once after that. A block may advance any number of times
/// before its backward visit, unless an op of its forward part may run once only and makes a tensor that is
/// read.
struct LevelSchedule {
    std::vector<Visit> visits;
    std::vector<std::int32_t> option;  ///< by block: the number of its option
};

struct LevelCost {
    bool executable = true;             ///< false: a visit lacks a tensor that it reads, and the other
                                        ///< fields mean nothing
    std::int64_t time = 0;              ///< ns
    std::int64_t peak = 0, excess = 0;  ///< bytes; the excess is summed over all visits above the budget
};

class Level {
  public:
    /// `parent`: the subproblem of all the blocks together, whose `outside` runs in the middle. It is null
    /// if the blocks are the whole step. All arguments must outlive the level.
    Level(const FlatGraph& whole, std::vector<LevelBlock> blocks, const Subproblem* parent);

    int size() const { return static_cast<int>(blocks_.size()); }
    const std::vector<BlockOption>& options(int block) const { return blocks_[block].options->options; }

    /// The schedule that saves each block in order and then runs each backward in reverse order.
    LevelSchedule once(std::vector<std::int32_t> option) const;

    /// Sets the bytes that `outside` holds beside the tensors that it reads and makes. They limit the bytes
    /// that the level saves.
    void set_workspace(std::int64_t bytes);

    /// The counts of bytes leave out residents and the tensors that the parent is given. The peak is never
    /// below that of the lowered runs. Cost: linear in the tensors that the visits read and make.
    LevelCost cost_of(const LevelSchedule& schedule, std::int64_t budget) const;

    /// The time of `cost_of` alone, ns. Cost: linear in the visits.
    std::int64_t time_of(const LevelSchedule& schedule) const;

    /// The runs of a schedule as ops of the whole graph; -1 for `outside`. Ops that may run only once run at
    /// their block's first visit.
    RunSequence lowered(const LevelSchedule& schedule) const;

    // The following are the parts of the level's programme (level_model.h). Tensors of the level are
    // numbered from 0. Tensors that the same visits read and make, whatever the options, are merged into
    // one.
    /// The tensors that a visit reads and makes.
    struct Interface {
        std::vector<std::int32_t> reads, makes;
    };
    /// Whether the block may not advance, because an op that may run once only makes a tensor in its forward
    /// part that is read.
    bool runs_forward_once(int block) const { return runs_forward_once_[block]; }
    /// Bytes of results that ops that run once make and nothing reads. They are counted at every visit.
    std::int64_t always_bytes() const { return always_bytes_; }
    bool has_outside() const { return parent_ != nullptr; }
    int tensor_count() const { return static_cast<int>(bytes_.size()); }
    std::int64_t bytes(int tensor) const { return bytes_[tensor]; }
    std::int64_t workspace() const { return workspace_; }
    const std::vector<std::int32_t>& results() const { return results_; }
    /// The block that passes the tensor on; -1 if a backward visit or `outside` makes the tensor.
    int maker(int tensor) const { return maker_[tensor]; }
    const Interface& forward(int block) const { return interfaces_[block].forward; }
    const Interface& backward(int block, int option) const { return interfaces_[block].backward[option]; }
    const Interface& outside() const { return outside_; }
    const BlockOption& advance(int block) const { return blocks_[block].options->advance; }
    /// Bytes that a block takes while it runs backward, beside all tensors of the level and what the blocks
    /// save.
    std::int64_t backward_bytes(int block, int option) const {
        return options(block)[option].backward_peak - interfaces_[block].counted[option];
    }

    /// The blocks of the level that pass on tensors that the forward part of this block reads, ascending.
    const std::vector<std::int32_t>& makers_of(int block) const { return makers_[block]; }

  private:
    struct BlockInterface {
        Interface forward;
        std::vector<Interface> backward;    ///< by option
        std::vector<std::int64_t> counted;  ///< by option: bytes of the backward peak that the level holds
    };

    /// What a visit costs.
    struct Play {
        std::int32_t first_read = 0, first_made = 0, end = 0;  ///< indices into `touched_`
        std::int64_t time = 0;                                 ///< ns
        std::int64_t bytes = 0;                                ///< bytes that the visit takes beside what is
                                                               ///< there before it
        std::int64_t saved = 0;                                ///< bytes that the visit saves, or takes away
                                                               ///< if negative
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
    std::vector<std::int32_t> number_;  ///< by tensor of the whole graph: its number in the level, or -1
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
    std::vector<Play> plays_;  ///< each block's advance, then its save and backward visits by option; last
                               ///< `outside`
    std::vector<std::int32_t> first_play_;  ///< by block, then for `outside`: index into `plays_`
    // Buffers of `cost_of`.
    mutable std::vector<const Play*> playing_;
    mutable std::vector<std::uint8_t> next_, kept_, made_, done_;
};

}  // namespace rematlas::hierarchical
