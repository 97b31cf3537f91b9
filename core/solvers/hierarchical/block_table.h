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
    int level_saved_limits = 5, level_peak_limits = 6;  ///< limits for blocks that have children
    int level_moves = 20'000;                           ///< moves of the annealing for each pair of limits
    /// The limits of a level's programme, which runs after the annealing of the level. Without a value only
    /// the annealing runs.
    std::optional<ProgrammeLimits> programme = {};
    double tolerance = 0.02;  ///< by how much of their time equal blocks may differ
    std::uint64_t seed = 1;
};

/// Reads the options that all solvers on blocks have in common.
void read_block_options(OptionReader& reader, PartitionOptions& partition, BlockTableOptions& blocks);

class BlockTable {
  public:
    /// The options and the graphs of the problem must outlive the table. `always` marks tensors (by tensor
    /// of the whole graph; it may be empty). The marked tensors have no bytes in the blocks, and the caller
    /// must count them during the whole step.
    BlockTable(const Problem& problem, TrainingTree tree, const BlockTableOptions& options,
               const std::vector<std::uint8_t>& always = {});

    /// Finds options for every class of equal blocks, from the bottom up; classes of one height are solved
    /// side by side. Returns false when the deadline ended the search: the blocks without results then have
    /// only options that need no search. Otherwise equal seeds give equal options, whatever the number of
    /// threads. Options come from the cache where it knows them, and options that were found before the
    /// deadline are kept in it.
    bool fill(const Deadline& deadline, int threads, const OptionCache& cache = OptionCache({}));

    const TrainingTree& tree() const { return tree_; }
    const FlatGraph& flat() const { return flat_; }  ///< tensors that are always there have no bytes
    /// The subproblem of any block but the first. The times of its ops are those of the first block of its
    /// class, so that solvers treat equal blocks alike.
    const Subproblem& part(int block) const { return parts_[block]; }
    const BlockOptions& options_of(int block) const { return options_of_[block]; }

    /// The level that the children of a block form.
    Level level_of(int block) const;

    /// The best schedule that was found for a block's children: annealing makes `moves` moves, and the
    /// level's programme then improves the schedule if the options ask for the programme.
    LevelSchedule choose(int block, const Level& level, LevelSchedule start, std::int64_t budget,
                         std::uint64_t seed, std::uint64_t moves, const Deadline& deadline) const;

  private:
    BlockOptions combined(int block, std::uint64_t seed, const Deadline& deadline) const;
    /// Returns whether new options were kept in the cache.
    bool solve_block(int block, const Deadline& deadline, const OptionCache& cache);
    bool take_cached(int block, const std::string& key, const OptionCache& cache);
    void keep_in(const OptionCache& cache, const std::string& key, int block) const;
    void copy_to_equals(int class_number);
    std::string key_of(int block) const;

    FlatGraph flat_;
    const BlockTableOptions& options_;
    const TrainingTree tree_;
    // By block. The first block is the whole step: its entries are empty, and its class is -1.
    std::vector<Subproblem> parts_;
    std::vector<CanonicalBlock> canonical_;
    std::vector<int> class_;
    std::vector<BlockOptions> options_of_;
    std::vector<std::vector<int>> of_class_;  ///< by class: the blocks of the class, ascending
};

}  // namespace rematlas::hierarchical
