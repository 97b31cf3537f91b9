// HiRemate: the training step as nested blocks, each with options that are chosen and recombined level by
// level.
//
//     auto hiremate = make_hiremate({.polish = false});
//     Answer answer = hiremate->solve(problem, budget, {.time = 15s}, progress);
//
// Source: Gusak et al., "HiRemate" (ICML 2025). Bottom blocks of about 25 forward ops get options by
// annealing under limits on the bytes that they save and on their peak. Annealing over visits finds the best
// orders and choices of a block's children, which become the options of the block. The whole step is
// annealed in the same way, at the budget. Equal blocks are solved once. The last level's schedules are
// measured op by op: this makes use of the budget that the sums of the levels leave.
#pragma once

#include <memory>

#include "core/hierarchy/training_tree.h"
#include "core/solvers/hierarchical/block_table.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

struct HiremateOptions {
    PartitionOptions partition{.nest_sequences = true};
    hierarchical::BlockTableOptions blocks;
    bool sequence = true;  ///< whether Rotor's programme over the sequence of blocks runs, too
    bool polish = false;   ///< whether atlas's annealing of the runs uses the remaining time
};

std::unique_ptr<Solver> make_hiremate(const HiremateOptions& options = {});
extern const SolverEntry hiremate_solver;
void read_options(OptionReader& reader, HiremateOptions& options);

/// H-ILP of the same paper: levels of few items, single ops at the bottom, and a mixed-integer programme at
/// each level (level_model.h), which starts from the schedule that the annealing found.
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
