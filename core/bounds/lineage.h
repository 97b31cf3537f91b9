// The ops that must run before an op, and the ops that must run after it, in every valid schedule.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

/// Memory: two bits for each pair of ops. Cost of building: one operation on a word for each input of an op
/// and each 64 ops.
class Lineage {
  public:
    explicit Lineage(const FlatGraph& graph);

    /// The time in nanoseconds of the op and its ancestors, as far as `counted` (a flag for each op) marks
    /// them. Each of these ops has run when the first run of `op` ends.
    std::int64_t time_until(int op, std::span<const std::uint8_t> counted) const;

    /// The time in nanoseconds of these required ops and of the required ops that descend from them. While
    /// none of `ops` has run, all of this time is still to come.
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
    std::vector<Word> before_;  ///< per op: itself and its ancestors
    std::vector<Word> after_;   ///< per op: itself and its descendants, if required
};

}  // namespace rematlas
