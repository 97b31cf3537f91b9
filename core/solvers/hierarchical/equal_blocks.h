// Blocks share their options if they differ only in the ids and the order of their ops and tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/graph/subproblem.h"

namespace rematlas::hierarchical {

/// A block's ops in an order that depends only on how they are connected. Ops at the same place in two
/// blocks of equal `structure` correspond to each other.
struct CanonicalBlock {
    std::vector<std::int32_t> ops;    ///< by place
    std::vector<std::int64_t> times;  ///< by place
    std::string structure;            ///< all that decides about schedules and their bytes, but not the times
};

/// Places follow an order that the ops can run in. Of the ops that can come next, the one with the least
/// hash of all that is before and behind it comes first (Weisfeiler and Leman, 1968, along the edges of a
/// DAG). Ops of equal branches, which the hash cannot tell apart, keep their order. Two equal blocks may
/// then have different structures, but two blocks that differ never have equal ones. Cost: n log n.
CanonicalBlock canonical(const Subproblem& block);

/// The sum of the differences between two blocks' times, as a share of the sum of the times `of`.
double times_apart(const std::vector<std::int64_t>& times, const std::vector<std::int64_t>& of);

/// Numbers the classes of equal blocks, in the order in which blocks are asked for.
class EqualBlocks {
  public:
    /// `tolerance`: how far the times of equal blocks may be apart (`times_apart`).
    explicit EqualBlocks(double tolerance) : tolerance_(tolerance) {}

    /// The class of the block, which is a new class if no block before it equals it.
    int class_of(const CanonicalBlock& block);

  private:
    struct Member {
        int number;
        std::vector<std::int64_t> times;
    };
    double tolerance_;
    int size_ = 0;
    std::map<std::string, std::vector<Member>> members_;  ///< by structure: the first block of each class
};

}  // namespace rematlas::hierarchical
