// HiRemate: splits the training step into nested blocks. Each block has options, which are chosen and
// combined level by level.
//
//     auto hiremate = make_hiremate({.polish = false});
//     Answer answer = hiremate->solve(problem, budget, {.time = 15s}, progress);
//
// Source: Gusak et al., "HiRemate" (ICML 2025). Bottom blocks of about 25 forward ops get options by
// annealing under limits on their saved bytes and on their peak. For a block with children, a second
// annealing finds good orders and options of the children; the results become the options of the block. The
// whole step is annealed in the same way, at the budget. Equal blocks are solved once. The peak that a level
// computes from its blocks can be above the exact peak. So the last level is also solved for memory limits
// somewhat above the budget, and the exact peaks of its schedules are measured op by op.
#pragma once

#include <memory>

#include "core/hierarchy/training_tree.h"
#include "core/solvers/hierarchical/block_table.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

struct HiremateOptions {
    PartitionOptions partition{.nest_sequences = true};
    hierarchical::BlockTableOptions blocks;
    bool sequence = true;  ///< whether Rotor's dynamic program over the sequence of blocks runs, too
    bool polish = false;   ///< whether the annealing of atlas uses the remaining time
};

std::unique_ptr<Solver> make_hiremate(const HiremateOptions& options = {});
extern const SolverEntry hiremate_solver;
void read_options(OptionReader& reader, HiremateOptions& options);

/// H-ILP is from the same paper. Each of its levels has few items, and the items of the lowest level are
/// single ops. Each level is solved by a mixed-integer program (level_model.h), which starts from the result
/// of the annealing.
struct HilpOptions {
    HilpOptions() {
        hiremate.partition.most_items = 10;
        hiremate.partition.single_ops = true;
        hiremate.blocks.level_saved_limits = 6;
        hiremate.blocks.level_peak_limits = 4;
        hiremate.blocks.level_moves = 5'000;
        hiremate.blocks.programme.emplace();
        hiremate.sequence = false;
    }
    HiremateOptions hiremate;
};

std::unique_ptr<Solver> make_hilp(const HilpOptions& options = {});
extern const SolverEntry hilp_solver;
void read_options(OptionReader& reader, HilpOptions& options);

}  // namespace rematlas
