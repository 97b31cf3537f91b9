// The choices of ops to save, and of regions to leave without checkpointing, as the items of a knapsack with
// a memory limit at each moment.
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
    std::vector<std::int32_t> ops = {};  ///< ops that are saved; empty if the item takes a whole region out
                                         ///< of checkpointing
    int region = -1;                     ///< region that is taken out, or that contains the op; -1 if `ops`
                                         ///< is a group
    std::int64_t time = 0;               ///< ns of the ops that do not run again if the item is taken
    std::vector<HeldBytes> held = {};
};

/// Returns an item for each savable op of the regions in `chosen`. With `by_selectors`, returns an item for
/// each group of ops that one selector stands for, if all of them are savable. `base` is the training step in
/// which nothing is saved.
std::vector<SaveItem> items_to_save(const Graph& graph, const FlatGraph& flat,
                                    const std::vector<Region>& regions, std::span<const int> chosen,
                                    const CheckpointedStep& base, bool by_selectors);

/// Returns an item for each region in `chosen`. Taking the item means that the region is not checkpointed.
std::vector<SaveItem> items_to_leave(const FlatGraph& flat, const std::vector<Region>& regions,
                                     std::span<const int> chosen, const CheckpointedStep& base);

/// The bytes of a step at each moment, with the items taken so far.
class MomentRoom {
  public:
    MomentRoom(const CheckpointedStep& base, std::int64_t budget) : used_(base.during), budget_(budget) {}

    /// Takes the item if its bytes fit the budget at each moment at which they are held. Returns whether it
    /// was taken.
    bool take(const SaveItem& item);
    std::span<const std::int64_t> used() const { return used_; }

  private:
    std::vector<std::int64_t> used_;
    std::int64_t budget_;
};

/// The price of a byte at each moment. A high price means that memory is short at the moment.
class Prices {
  public:
    explicit Prices(std::size_t moments) : weight_(moments, 1.0), sum_(moments + 1, 0.0) { settle(); }

    double of(const SaveItem& item) const;
    /// Raises the prices of the moments at which many bytes are used.
    void raise(std::span<const std::int64_t> used);

  private:
    void settle();
    std::vector<double> weight_, sum_;
};

}  // namespace rematlas
