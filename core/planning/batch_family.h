// The graphs of one model at other batch sizes, foretold from two that were captured.
//
//     BatchFamily family;
//     family.add(2, graph_of_2);
//     family.add(4, graph_of_4);
//     std::optional<Graph> of_64 = family.graph_at(64);   // nothing where the ops differ by batch
//
// Bytes, workspaces and times of a step are taken as straight lines through the two nearest members of equal
// structure, rounded up. That is exact for tensors, whose sizes are proportional to the batch or do not
// depend on it; kernels choose their workspaces and their speed by size, so a foretold graph answers where to
// look, and a captured one decides.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/graph/graph.h"

namespace rematlas {

class BatchFamily {
  public:
    /// `batch` is at least 1; a second graph of the same batch replaces the first.
    void add(std::int64_t batch, Graph graph);

    /// Without replay data and digest. Nothing when no two members near `batch` have the same ops on the same
    /// tensors, or when a line leaves 61 bits.
    std::optional<Graph> graph_at(std::int64_t batch) const;

  private:
    std::map<std::int64_t, Graph> members_;
};

}  // namespace rematlas
