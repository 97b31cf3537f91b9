// The ops that must run before an op, and the ops that must run after it, in every valid schedule.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

/// Memory: two bits for each pair of ops. Cost of the constructor: for each input of an op, one word
/// operation per 64 ops.
class Lineage {
  public:
    explicit Lineage(const FlatGraph& graph);

    /// Returns the time in nanoseconds of the op and its ancestors, counting only ops that `counted` marks (a
    /// flag per op). All these ops have run when the first run of `op` ends.
    std::int64_t time_until(int op, std::span<const std::uint8_t> counted) const;

    /// Returns the time in nanoseconds of `ops` and of all required ops that descend from them. `ops` must be
    /// required. At least this time is still needed while none of `ops` has run.
    std::int64_t time_from(std::span<const int> ops) const;

  private:
    using Word = std::uint64_t;
    std::span<const Word> of(const std::vector<Word>& sets, int op) const {
        return {sets.data() + op * words_, words_};
    }
    template <class Visit>
    static void visit(std::span<const Word> ops, const Visit& visit_op);

    const FlatGraph* graph_;
    std::size_t words_;
    std::vector<Word> before_;  ///< per op: the op and its ancestors
    std::vector<Word> after_;   ///< per op: the required ops among the op and its descendants
};

}  // namespace rematlas
