// What can be saved in checkpointed regions, as the items of a knapsack with a limit for each moment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/solvers/selective/checkpointed_step.h"

namespace rematlas {

/// Bytes that are held at the moments begin .. end - 1 if the item is taken.
struct HeldBytes {
    std::int32_t begin = 0, end = 0;
    std::int64_t bytes = 0;
};

struct SaveItem {
    std::vector<std::int32_t> ops = {};  ///< that are saved; empty: the region is not checkpointed
    int region = -1;                     ///< the region of the item; -1 for a group of ops
    std::int64_t time = 0;               ///< ns of the ops that do not run again
    std::vector<HeldBytes> held = {};
};

/// An item for each op of these regions that can be saved, or for each group of such ops. `base` is the step
/// in which nothing is saved.
std::vector<SaveItem> items_to_save(const Graph& graph, const FlatGraph& flat,
                                    const std::vector<Region>& regions, std::span<const int> chosen,
                                    const CheckpointedStep& base, bool by_selectors);

/// An item for each of these regions: the region is not checkpointed.
std::vector<SaveItem> items_to_leave(const FlatGraph& flat, const std::vector<Region>& regions,
                                     std::span<const int> chosen, const CheckpointedStep& base);

/// The bytes of a step, moment by moment, with the items taken so far.
class MomentRoom {
  public:
    MomentRoom(const CheckpointedStep& base, std::int64_t budget) : used_(base.during), budget_(budget) {}

    /// Takes the item if there is room for it at each moment.
    bool take(const SaveItem& item);
    std::span<const std::int64_t> used() const { return used_; }

  private:
    std::vector<std::int64_t> used_;
    std::int64_t budget_;
};

/// Prices of a byte at each moment.
class Prices {
  public:
    explicit Prices(std::size_t moments) : weight_(moments, 1.0), sum_(moments + 1, 0.0) { settle(); }

    double of(const SaveItem& item) const;
    /// Makes the moments that were full dearer from here on.
    void raise(std::span<const std::int64_t> used);

  private:
    void settle();
    std::vector<double> weight_, sum_;
};

}  // namespace rematlas
