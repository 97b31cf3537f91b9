// The evicted neighbourhoods of storages: what would have to run again with them (Kirisame et al., ICLR 2021,
// section 4.1 and appendix C.1).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/dtr/storage_graph.h"

namespace rematlas {

/// Kept up to date as storages are evicted and return.
class EvictedNeighbourhood {
  public:
    enum class Kind {
        none,
        classes,    ///< connected evicted storages in union-find classes; a storage that returns leaves its
                    ///< class, which is not split
        ancestors,  ///< evicted storages on paths of evicted ones up from the storage
        ancestors_and_descendants,  ///< up and down
    };

    EvictedNeighbourhood(const StorageGraph& graph, Kind kind);

    void evicted(int storage);
    void returned(int storage);
    /// A view was added to the storage.
    void grew(int storage);
    bool is_evicted(int storage) const {
        return storage < static_cast<int>(evicted_.size()) && evicted_[storage];
    }
    /// Takes note that the graph has forgotten some storages. The classes also forget what they remember of
    /// storages that returned.
    void settle();

    /// Sum of the costs of the evicted neighbourhood, each storage once. Cost: near constant for classes;
    /// otherwise the neighbourhood's size when it changed since the last call, else constant.
    std::int64_t cost(int storage);
    /// A lower bound on the cost that needs no sum: the last result of `cost`, lowered where the
    /// neighbourhood may have shrunk since. It rises in calls of `cost` alone, and falls only for storages
    /// that `take_lowered` names.
    std::int64_t cost_at_least(int storage) const {
        return storage < static_cast<int>(known_.size()) ? known_[storage] : 0;
    }
    /// Storages whose bound has fallen since the last call, some more than once.
    std::vector<int> take_lowered() { return std::exchange(lowered_, {}); }

  private:
    enum Direction { up, down };
    enum Change { grows, shrinks };

    void follow_graph();
    void join(int storage);
    int find(int element);
    std::int64_t class_cost(int storage);
    void reach(int storage, Direction direction);
    std::int64_t exact_cost(int storage);
    void lower_watchers(int root, std::int64_t share);
    void lower(int storage, std::int64_t by);
    void invalidate(int storage, Change change);
    void invalidate_around(int storage, Change change);
    template <class Visit>
    void for_each_neighbour(int storage, Direction direction, Visit&& visit) const;

    const StorageGraph& graph_;
    Kind kind_;
    std::vector<std::uint8_t> evicted_;

    // Classes: an element for each eviction, so that a storage that returns can join another class later.
    std::vector<int> element_;              // per storage, -1 on the device
    std::vector<int> up_;                   // per element
    std::vector<std::int64_t> share_;       // per element: what its storage brought in
    std::vector<std::int64_t> class_cost_;  // per root
    std::vector<int> class_seen_;           // per root: stamp of the last sum that counted it

    std::vector<std::vector<int>> watchers_;  // per root: storages whose bound counts on its cost, and others
    std::vector<int> lowered_at_;             // per storage: stamp of the last walk that lowered its bound

    // Exact neighbourhoods. A walk looks for all storages whose sum, or bound, counts an evicted storage. It
    // needs to go on only from the storages that such a sum has counted.
    std::vector<std::uint8_t> valid_;          // per storage: `known_` is the exact cost
    std::vector<std::uint8_t> counted_[2][2];  // per change it would matter to, direction and storage

    std::vector<std::int64_t> known_;  // per storage: lower bounds
    std::vector<int> lowered_;
    std::vector<int> seen_[2];  // per direction and storage: stamp of the last walk
    std::vector<int> reached_;  // storages of the last walk: its start, then the evicted ones
    int stamp_ = 0;
};

}  // namespace rematlas
