// Predicts the graphs of a model at other batch sizes from captured graphs.
//
//     BatchFamily family;
//     family.add(2, graph_of_2);
//     family.add(4, graph_of_4);
//     std::optional<Graph> of_64 = family.graph_at(64);   // nothing if the ops differ by batch
//
// Bytes, workspaces and times are computed linearly from two members of the family (captured graphs): those
// whose batches are nearest to the wanted batch. The numbers are rounded up. The result is exact for the
// bytes of tensors, because they are proportional to the batch or do not depend on it. Workspaces and times
// of kernels do not grow evenly with the batch. So a predicted graph only says which batch to try, and a
// captured graph decides.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/graph/graph.h"

namespace rematlas {

class BatchFamily {
  public:
    /// Adds a captured graph. `batch` must be at least 1. A second graph of the same batch replaces the
    /// first.
    void add(std::int64_t batch, Graph graph);

    /// Returns the predicted graph, without replay data and digest. Returns nothing if there are fewer than
    /// two members, if the two nearest to `batch` do not have the same ops on the same tensors, or if a
    /// number becomes too large.
    std::optional<Graph> graph_at(std::int64_t batch) const;

  private:
    std::map<std::int64_t, Graph> members_;
};

}  // namespace rematlas
