// Selective checkpointing as PyTorch runs it. Regions are calls of modules; in each region the outputs of
// some ops are saved (torch.utils.checkpoint with `create_selective_checkpoint_contexts`).
//
// Forward keeps the tensors that a region reads from outside and the outputs of its saved ops. When backward
// first needs a tensor of a region, the forward of the region runs again without the saved ops, up to the
// last op that backward needs (`regions.h`). The ops run in the graph's order. The answer is the best of
// these schedules if there are few enough choices to try all (`save_search.h`). Otherwise it comes from a
// heuristic, and nothing is proven about it. Graphs without module paths have no regions. Cost: some hundred
// passes over the step.
#pragma once

#include <memory>

#include "core/solvers/selective/save_search.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

/// A choice of regions and saved ops, with its solution.
struct SelectivePlan {
    std::vector<Region> regions;                   ///< checkpointed regions, in forward order
    std::vector<std::vector<std::int32_t>> saved;  ///< by region: its saved ops, in ascending order
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
