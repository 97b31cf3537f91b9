// The options of all blocks of one training step. They do not depend on the step's budget.
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
    int level_saved_limits = 5, level_peak_limits = 6;  ///< numbers of limits for a block with children
    int level_moves = 20'000;                           ///< moves of the annealing for each pair of limits
    /// The limits for the integer program of a level, which runs after the annealing of the level. If there
    /// is no value, only the annealing runs.
    std::optional<ProgrammeLimits> programme = {};
    double tolerance = 0.02;  ///< the share by which the times of equal blocks may differ
    std::uint64_t seed = 1;
};

/// Reads the options of how the step is cut into blocks and of the search in bottom blocks.
void read_bottom_options(OptionReader& reader, PartitionOptions& partition, BlockTableOptions& blocks);
/// Reads the options that all solvers on nested blocks share.
void read_block_options(OptionReader& reader, PartitionOptions& partition, BlockTableOptions& blocks);

class BlockTable {
  public:
    /// `options` and the graphs of the problem must outlive the table. `always` holds a mark for each tensor
    /// of the whole graph, or is empty. Marked tensors take no bytes in the blocks; the caller must count
    /// their bytes during the whole step.
    BlockTable(const Problem& problem, TrainingTree tree, const BlockTableOptions& options,
               const std::vector<std::uint8_t>& always = {});

    /// Finds options for every class of equal blocks, bottom blocks first. Classes of the same height are
    /// solved in parallel. Returns false if the deadline ended the search; blocks without results then have
    /// only the options that need no search. Otherwise equal seeds give equal options, whatever the number of
    /// threads. Options are taken from the cache if it has them. Options found before the deadline are stored
    /// in the cache.
    bool fill(const Deadline& deadline, int threads, const OptionCache& cache = OptionCache({}));

    const TrainingTree& tree() const { return tree_; }
    const FlatGraph& flat() const { return flat_; }  ///< tensors marked by `always` take no bytes
    /// Returns the subproblem of any block except the first. For equal blocks, the times are those of the
    /// first block of the class, so that solvers treat equal blocks alike.
    const Subproblem& part(int block) const { return parts_[block]; }
    const BlockOptions& options_of(int block) const { return options_of_[block]; }

    /// Returns the level that consists of the children of a block.
    Level level_of(int block) const;

    /// Returns the best schedule found for the children of a block. Annealing makes `moves` moves; then the
    /// level's integer program improves the schedule if the options ask for it.
    LevelSchedule choose(int block, const Level& level, LevelSchedule start, std::int64_t budget,
                         std::uint64_t seed, std::uint64_t moves, const Deadline& deadline) const;

  private:
    BlockOptions combined(int block, std::uint64_t seed, const Deadline& deadline) const;
    /// Finds the options of a block. Returns whether new options were stored in the cache.
    bool solve_block(int block, const Deadline& deadline, const OptionCache& cache);
    bool take_cached(int block, const std::string& key, const OptionCache& cache);
    void keep_in(const OptionCache& cache, const std::string& key, int block) const;
    void copy_to_equals(int class_number);
    std::string key_of(int block) const;

    FlatGraph flat_;
    const BlockTableOptions& options_;
    const TrainingTree tree_;
    // The next four vectors are indexed by block. The first block is the whole step: its entries are empty,
    // and its class is -1.
    std::vector<Subproblem> parts_;
    std::vector<CanonicalBlock> canonical_;
    std::vector<int> class_;
    std::vector<BlockOptions> options_of_;
    std::vector<std::vector<int>> of_class_;  ///< by class: the blocks of the class, in ascending order
};

}  // namespace rematlas::hierarchical
