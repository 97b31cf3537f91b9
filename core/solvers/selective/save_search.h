// Searches for save sets: which regions to checkpoint, and which ops to save in them.
//
// If the regions are fixed, saving the outputs of an op holds their bytes from the moment at which they would
// otherwise die in the forward pass to the moment of the op's rerun. It gains the time of this rerun,
// whatever else is saved. So the best save set is the solution of a knapsack problem with a memory limit at
// each moment. Leaving a region without checkpointing is also an item: it holds the bytes of all tensors of
// the region that backward reads, and gains the time of the whole rerun.
//
// If there are few choices, all are tried, and the answer is the best of its class. Otherwise the items are
// taken in the order of their time divided by the price of their bytes. This is repeated with different
// prices: bytes cost more at moments that were full before. It is also repeated at each level of the tree of
// regions, first with all regions of the level checkpointed, then with fewer and fewer. Then the regions of
// the best answer are changed, one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/solvers/selective/checkpointed_step.h"
#include "core/solving/limits.h"

namespace rematlas {

/// Which save sets are allowed.
struct SaveClass {
    /// If true, as in torchtitan: all layers (the outermost regions whose names are numbers) are
    /// checkpointed, and selectors choose the ops to save. A selector stands for all ops of one name in a
    /// module and in all modules whose paths differ only in numbers; all of these ops are saved, or none of
    /// them.
    bool by_selectors = false;
    int most_tried = 1 << 14;  ///< if there are at most this many choices, all are tried
};

struct FoundSaveSet {
    SaveSet save_set;
    std::int64_t time = 0, peak = 0;
};

struct SaveSearchResult {
    std::optional<FoundSaveSet> best;  ///< best save set within the budget
    std::int64_t smallest_peak = 0;    ///< smallest peak of all save sets that were tried
};

/// Searches for the save set with the least time within the budget, and with the least memory among equal
/// times. At the deadline the search ends with the best save set so far.
SaveSearchResult search_save_set(const Graph& graph, const FlatGraph& flat,
                                 const std::vector<Region>& regions, Bytes budget, const SaveClass& of,
                                 const Deadline& deadline);

/// Returns the selector of an op: "blocks.*.mlp::addmm" for module "blocks.3.mlp" and op "addmm".
std::string selector_of(const Op& op);

}  // namespace rematlas
