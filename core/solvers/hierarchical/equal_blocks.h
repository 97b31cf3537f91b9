// Finds equal blocks, which share their options: blocks that differ only in the ids and the order of ops and
// tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/graph/subproblem.h"

namespace rematlas::hierarchical {

/// A block's ops in an order that follows from the structure of the block, not from ids. The position of an
/// op in this order is its place. If two blocks have equal `structure`, the ops at equal places correspond.
struct CanonicalBlock {
    std::vector<std::int32_t> ops;    ///< op at each place
    std::vector<std::int64_t> times;  ///< ns, by place
    std::string structure;            ///< text with everything that schedules and their bytes depend on,
                                      ///< except times
};

/// Puts the ops into an order in which they can run. Among the ops that can come next, the op with the least
/// hash comes first. The hash covers everything before and after the op (Weisfeiler and Leman, 1968, along
/// the edges of a DAG). Ops with equal hashes, such as ops of equal branches, keep their order. So two equal
/// blocks can get different structures, but different blocks never get equal structures. Cost: n log n.
CanonicalBlock canonical(const Subproblem& block);

/// Returns the sum of the absolute differences between `times` and `of`, as a share of the sum of `of`.
double times_apart(const std::vector<std::int64_t>& times, const std::vector<std::int64_t>& of);

/// Gives ids to the classes of equal blocks: 0, 1, 2, ... in the order of the calls of `class_of`.
class EqualBlocks {
  public:
    /// `tolerance`: the largest `times_apart` of two equal blocks.
    explicit EqualBlocks(double tolerance) : tolerance_(tolerance) {}

    /// Returns the class of the block: a new class if no earlier block is equal.
    int class_of(const CanonicalBlock& block);

  private:
    struct Member {
        int number;
        std::vector<std::int64_t> times;
    };
    double tolerance_;
    int size_ = 0;
    std::map<std::string, std::vector<Member>> members_;  ///< for each structure: first block of each class
};

}  // namespace rematlas::hierarchical
