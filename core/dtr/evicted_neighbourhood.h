// The evicted neighbourhood of a storage: the evicted storages that must be made again before it, and those
// that cannot be made again without it (Kirisame et al., ICLR 2021, section 4.1 and appendix C.1).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/dtr/storage_graph.h"

namespace rematlas {

/// Keeps the neighbourhoods up to date while storages are evicted and made again.
class EvictedNeighbourhood {
  public:
    enum class Kind {
        none,
        /// Union-find classes of connected evicted storages. A storage that returns leaves its class, but the
        /// class is not split.
        classes,
        ancestors,  ///< evicted ancestors that are reached through evicted storages only
        /// Evicted ancestors and evicted descendants that are reached through evicted storages only.
        ancestors_and_descendants,
    };

    EvictedNeighbourhood(const StorageGraph& graph, Kind kind);

    void evicted(int storage);
    void returned(int storage);
    /// Must be called when a view was added to the storage.
    void grew(int storage);
    bool is_evicted(int storage) const {
        return storage < static_cast<int>(evicted_.size()) && evicted_[storage];
    }
    /// Must be called when the graph has forgotten some storages. With `classes`, the classes are built anew
    /// from the storages that are evicted now. So a class is split if only storages that have returned
    /// connected its parts.
    void settle();

    /// Returns the sum of the costs of the storages in the evicted neighbourhood. Each storage counts once.
    /// For `classes` the call takes nearly constant time. For the other kinds it takes time linear in the
    /// size of the neighbourhood if the neighbourhood has changed since the last call, else constant time.
    std::int64_t cost(int storage);
    /// Returns a lower bound on the cost without computing a sum: the last result of `cost`, lowered if the
    /// neighbourhood may have shrunk since. Only calls of `cost` raise the bound. `take_lowered` returns each
    /// storage whose bound has fallen.
    std::int64_t cost_at_least(int storage) const {
        return storage < static_cast<int>(known_.size()) ? known_[storage] : 0;
    }
    /// Returns the storages whose bound has fallen since the last call; a storage can occur more than once.
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

    // The union-find tree has one element per eviction, not per storage. So a storage that returns and is
    // evicted again can join another class.
    std::vector<int> element_;              // per storage: its element; -1 while it is on the device
    std::vector<int> up_;                   // per element: its parent in the union-find tree
    std::vector<std::int64_t> share_;       // per element: the cost that its storage added to the class
    std::vector<std::int64_t> class_cost_;  // per root: cost of the class
    std::vector<int> class_seen_;           // per root: stamp of the last sum that counted the class

    // Per root: the storages whose bound contains the cost of the class, and perhaps others.
    std::vector<std::vector<int>> watchers_;
    std::vector<int> lowered_at_;  // per storage: stamp of the last walk that lowered its bound

    // For exact neighbourhoods: when an evicted storage changes, a walk finds all storages whose sum or bound
    // counts it. The walk continues only from storages that a sum has counted.
    std::vector<std::uint8_t> valid_;  // per storage: whether `known_` is the exact cost
    // [change][direction][storage]: whether a sum whose walk went in this direction has counted the storage
    // since an invalidating walk last cleared the entry.
    std::vector<std::uint8_t> counted_[2][2];

    std::vector<std::int64_t> known_;  // per storage: lower bound on the cost
    std::vector<int> lowered_;
    std::vector<int> seen_[2];  // [direction][storage]: stamp of the last walk that reached it
    std::vector<int> reached_;  // storages that the last walk reached: its start, then evicted storages
    int stamp_ = 0;
};

}  // namespace rematlas
