// Blocks that are equal but for the ids and the order of their ops and tensors share their options.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/graph/subproblem.h"

namespace rematlas::hierarchical {

/// A block in an order that depends on nothing but how its ops hang together: ops that stand at the same
/// place in two blocks of equal `structure` do the same there.
struct CanonicalBlock {
    std::vector<std::int32_t> ops;    ///< by place
    std::vector<std::int64_t> times;  ///< by place
    std::string structure;  ///< all that decides about the block's schedules and their bytes; not its times
};

/// Places are given out in an order that ops can run in, of those that can come next by a hash of all that is
/// before and behind them (Weisfeiler and Leman, 1968, along the edges of a DAG). Ops that it cannot tell
/// apart, in branches that are equal, keep their order; two equal blocks may then have unequal structures,
/// never the other way round. Cost: n log n.
CanonicalBlock canonical(const Subproblem& block);

/// The sum of how far two blocks' times are apart, as a share of the second one's.
double times_apart(const std::vector<std::int64_t>& times, const std::vector<std::int64_t>& of);

/// Numbers classes of equal blocks as they come.
class EqualBlocks {
  public:
    /// `tolerance`: how far the times of equal blocks may be apart (`times_apart`).
    explicit EqualBlocks(double tolerance) : tolerance_(tolerance) {}

    /// The class of the block; a new one where it has no equal before it.
    int class_of(const CanonicalBlock& block);

  private:
    struct Member {
        int number;
        std::vector<std::int64_t> times;
    };
    double tolerance_;
    int size_ = 0;
    std::map<std::string, std::vector<Member>> members_;  ///< the first of each class, by structure
};

}  // namespace rematlas::hierarchical
