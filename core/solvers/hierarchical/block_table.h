// The options of all blocks of one training step, whatever its budget.
//
//     BlockTable table(problem, training_tree(problem.graph, problem.flat), {});
//     table.fill(deadline, threads);
//     const Level level = table.level_of(0);          // the whole step as visits of its blocks
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/hierarchy/training_tree.h"
#include "core/solvers/hierarchical/block_search.h"
#include "core/solvers/hierarchical/equal_blocks.h"
#include "core/solvers/hierarchical/level.h"
#include "core/solvers/hierarchical/level_model.h"
#include "core/solvers/hierarchical/option_cache.h"
#include "core/solving/option_reader.h"
#include "core/solving/solver.h"

namespace rematlas::hierarchical {

struct BlockTableOptions {
    BlockSearchOptions bottom;
    int level_saved_limits = 5, level_peak_limits = 6;  ///< for options of blocks of blocks
    int level_moves = 20'000;                           ///< of annealing, for each pair of these
    /// After the annealing of a level, its programme; none: the annealing alone.
    std::optional<ProgrammeLimits> programme = {};
    double tolerance = 0.02;  ///< by how much of their time equal blocks may differ
    std::uint64_t seed = 1;
};

/// What solvers on blocks have in common.
void read_block_options(OptionReader& reader, PartitionOptions& partition, BlockTableOptions& blocks);

class BlockTable {
  public:
    /// `options` and the problem must outlive the table. Tensors that `always` marks (by tensor of the whole
    /// graph; may be empty) have no bytes in the blocks: who asks counts them all along.
    BlockTable(const Problem& problem, TrainingTree tree, const BlockTableOptions& options,
               const std::vector<std::uint8_t>& always = {});

    /// Options for every class of equal blocks, from the bottom up; those of one height side by side. False
    /// when the deadline ended it: what is missing then has only what goes without a search. Equal seeds give
    /// equal options otherwise, whatever the number of threads. What the cache knows is taken from there, and
    /// what was found in time is kept in it.
    bool fill(const Deadline& deadline, int threads, const OptionCache& cache = OptionCache({}));

    const TrainingTree& tree() const { return tree_; }
    const FlatGraph& flat() const { return flat_; }  ///< with no bytes for what is always there
    /// Of any block but the first. Times are those of the first block of its class, so that equal blocks are
    /// equal for who chooses between their options.
    const Subproblem& part(int block) const { return parts_[block]; }
    const BlockOptions& options_of(int block) const { return options_of_[block]; }

    /// The children of a block.
    Level level_of(int block) const;

    /// The best schedule found of a block's children: by annealing of `moves`, then by the programme where
    /// the options ask for it.
    LevelSchedule choose(int block, const Level& level, LevelSchedule start, std::int64_t budget,
                         std::uint64_t seed, std::uint64_t moves, const Deadline& deadline) const;

  private:
    BlockOptions combined(int block, std::uint64_t seed, const Deadline& deadline) const;
    /// Whether something was left in the cache.
    bool solve_block(int block, const Deadline& deadline, const OptionCache& cache);
    bool take_cached(int block, const std::string& key, const OptionCache& cache);
    void keep_in(const OptionCache& cache, const std::string& key, int block) const;
    void copy_to_equals(int class_number);
    std::string key_of(int block) const;

    FlatGraph flat_;
    const BlockTableOptions& options_;
    const TrainingTree tree_;
    // By block; of the first, the whole step, nothing.
    std::vector<Subproblem> parts_;
    std::vector<CanonicalBlock> canonical_;
    std::vector<int> class_;
    std::vector<BlockOptions> options_of_;
    std::vector<std::vector<int>> of_class_;  ///< by class: its blocks
};

}  // namespace rematlas::hierarchical
