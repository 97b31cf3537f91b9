// The search for save sets: which regions to checkpoint, and what to save in them.
//
// With the regions fixed, saving an op takes its bytes at the moments between the death of its outputs in
// forward and its rerun, and saves its time, whatever else is saved. So the best save set is that of a
// knapsack with a limit for each moment. A region that is not checkpointed is an item of such a knapsack,
// too: all that backward reads, for the time of the whole rerun.
//
// Few choices are all tried: the answer is then the best of its class. Else the items are taken in the
// order of their time by the price of their bytes, for several prices of moments (those that were full
// before cost more) and several numbers of regions that are not checkpointed, at each level of the tree of
// regions; and from the best of these on with other regions, one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/solvers/selective/checkpointed_step.h"
#include "core/solving/limits.h"

namespace rematlas {

/// What a save set may be.
struct SaveClass {
    /// As torchtitan does: all layers are checkpointed (the outermost regions with a number for a name),
    /// and ops are saved by selectors: all of a name in a module, or none, in all modules whose paths
    /// differ in numbers only.
    bool by_selectors = false;
    int most_tried = 1 << 14;  ///< so many choices are all tried
};

struct FoundSaveSet {
    SaveSet save_set;
    std::int64_t time = 0, peak = 0;
};

struct SaveSearchResult {
    std::optional<FoundSaveSet> best;  ///< within the budget
    std::int64_t smallest_peak = 0;    ///< of all that were looked at
    bool is_best_of_class = false;     ///< all choices were tried
};

/// Of the least time within the budget, then of the least memory. Ends at the deadline with what it has.
SaveSearchResult search_save_set(const Graph& graph, const FlatGraph& flat,
                                 const std::vector<Region>& regions, Bytes budget, const SaveClass& of,
                                 const Deadline& deadline);

/// "blocks.3.mlp" and "addmm": "blocks.*.mlp::addmm".
std::string selector_of(const Op& op);

}  // namespace rematlas
