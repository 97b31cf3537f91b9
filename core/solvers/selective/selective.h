// Selective checkpointing as PyTorch runs it: regions, which are calls of modules, and in each the ops
// whose outputs are saved (torch.utils.checkpoint with `create_selective_checkpoint_contexts`).
//
// Forward keeps what a region reads from outside and the outputs of its saved ops. When backward first
// needs anything of a region, its forward runs again as a whole but for the saved ops, up to the last op
// that backward needs (`regions.h`). The ops run in the graph's order. An answer is the best of this class
// where the choices are few enough to try all (`save_search.h`), else a heuristic one, of which nothing is
// proven. Graphs without module paths have no regions. Cost: some hundred passes over the step.
#pragma once

#include <memory>

#include "core/solvers/selective/save_search.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

/// A choice of the class, with what it takes.
struct SelectivePlan {
    std::vector<Region> regions;                   ///< that are checkpointed, in forward order
    std::vector<std::vector<std::int32_t>> saved;  ///< by region: its saved ops, ascending
    Solution solution;
};

using SelectiveAnswer = std::variant<SelectivePlan, Infeasible>;

SelectiveAnswer selective_plan(const Problem& problem, Bytes budget, const Limits& limits,
                               const SaveClass& of = {});

struct SelectiveOptions {
    SaveClass of;
};
void read_options(OptionReader& reader, SelectiveOptions& options);

std::unique_ptr<Solver> make_selective(SelectiveOptions options = {});
extern const SolverEntry selective_solver;

}  // namespace rematlas
