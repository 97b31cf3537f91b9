// The evicted neighbourhoods of tensors on the device: what would have to run again with them (Kirisame et
// al., ICLR 2021, section 4.1).
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

/// Kept up to date as tensors are evicted and return. Parents of a tensor are the inputs of its maker,
/// children the outputs of its users.
class DtrNeighbourhood {
  public:
    enum class Kind {
        none,
        classes,    ///< connected evicted tensors in union-find classes; a tensor that returns leaves its
                    ///< class, which is not split
        ancestors,  ///< evicted tensors on paths of evicted ones up from the tensor
        ancestors_and_descendants,  ///< up and down
    };

    DtrNeighbourhood(const FlatGraph& graph, Kind kind);

    void evicted(int tensor);
    void returned(int tensor);
    bool is_evicted(int tensor) const { return evicted_[tensor]; }
    bool has_evicted_child(int tensor) const;

    /// Sum of the times of the makers of the evicted neighbourhood. Cost: near constant for classes;
    /// otherwise the neighbourhood's size when it changed since the last call, else constant.
    std::int64_t time(int tensor);

    template <class Visit>
    void for_each_parent(int tensor, Visit&& visit) const {
        for (int t : graph_.inputs[graph_.producer[tensor]]) visit(t);
    }
    template <class Visit>
    void for_each_child(int tensor, Visit&& visit) const {
        for (int user : graph_.users[tensor]) {
            for (int t : graph_.outputs[user]) visit(t);
        }
    }

  private:
    std::int64_t maker_time(int tensor) const { return graph_.time[graph_.producer[tensor]]; }
    int find(int element);
    void join(int tensor);
    std::int64_t class_time(int tensor);
    std::int64_t closure_time(int tensor, bool up);
    void invalidate_around(int tensor);

    const FlatGraph& graph_;
    Kind kind_;
    std::vector<std::uint8_t> evicted_;

    // Classes: an element for each eviction, so that a tensor that returns can join another class later.
    std::vector<int> element_;             ///< per tensor, -1 on the device
    std::vector<int> up_;                  ///< per element
    std::vector<std::int64_t> class_sum_;  ///< per root
    std::vector<int> class_seen_;          ///< per root: stamp of the last sum that counted it

    // Exact neighbourhoods.
    std::vector<std::int64_t> known_;
    std::vector<std::uint8_t> valid_;
    std::vector<int> seen_;  ///< per tensor: stamp of the last walk
    std::vector<int> walk_;
    int stamp_ = 0;
};

}  // namespace rematlas
