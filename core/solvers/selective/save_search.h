// The search for save sets: which regions to checkpoint, and what to save in them.
//
// With the regions fixed, saving an op takes its bytes at the moments between the death of its outputs in
// forward and its rerun, and saves its time, whatever else is saved. So the best save set is that of a
// knapsack with a limit for each moment. A region that is not checkpointed is an item of such a knapsack,
// too: it takes the bytes of all tensors that backward reads, and saves the time of the whole rerun.
//
// If the choices are few, all are tried, and the answer is the best of its class. Else the items are taken
// in the order of their time by the price of their bytes. This is done for several prices of moments (those
// that were full before cost more) and several numbers of regions that are not checkpointed, at each level
// of the tree of regions. Then the regions of the best answer are exchanged, one at a time.
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
    int most_tried = 1 << 14;  ///< up to so many choices, all are tried
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

/// The save set of the least time within the budget, and among these of the least memory. At the deadline
/// the search ends with the best so far.
SaveSearchResult search_save_set(const Graph& graph, const FlatGraph& flat,
                                 const std::vector<Region>& regions, Bytes budget, const SaveClass& of,
                                 const Deadline& deadline);

/// "blocks.3.mlp" and "addmm": "blocks.*.mlp::addmm".
std::string selector_of(const Op& op);

}  // namespace rematlas
