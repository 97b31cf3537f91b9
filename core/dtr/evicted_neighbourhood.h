// The evicted neighbourhoods of storages: what would have to run again with them (Kirisame et al., ICLR 2021,
// section 4.1 and appendix C.1).
#pragma once

#include <cstdint>
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
    /// Some storages were forgotten; the graph has them no more. What classes remember of storages that
    /// returned is forgotten too.
    void settle();

    /// Sum of the costs of the evicted neighbourhood, each storage once. Cost: near constant for classes;
    /// otherwise the neighbourhood's size when it changed since the last call, else constant.
    std::int64_t cost(int storage);

  private:
    enum Direction { up, down };

    void follow_graph();
    void join(int storage);
    int find(int element);
    std::int64_t class_cost(int storage);
    void reach(int storage, Direction direction);
    std::int64_t exact_cost(int storage);
    void invalidate_around(int storage);
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

    // Exact neighbourhoods.
    std::vector<std::int64_t> known_;
    std::vector<std::uint8_t> valid_;
    std::vector<int> seen_[2];  // per direction and storage: stamp of the last walk
    std::vector<int> reached_;  // by the last walk: its start, then what is evicted
    int stamp_ = 0;
};

}  // namespace rematlas
