// What must have run before an op and what runs after it, in every valid schedule.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

/// Memory: two bits for each pair of ops. Cost: as many words as ops have inputs.
class Lineage {
  public:
    explicit Lineage(const FlatGraph& graph);

    /// Time of those of `counted` (a flag for each op) that are the op or its ancestors: when its first run ends,
    /// each of them has run.
    std::int64_t time_until(int op, std::span<const std::uint8_t> counted) const;

    /// Time of these required ops and of the required ops that descend from them: when none of these ops has
    /// run, all that has to run yet.
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
