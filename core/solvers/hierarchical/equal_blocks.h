// Blocks that are equal but for the ids of their ops and tensors share their options.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/graph/subproblem.h"

namespace rematlas::hierarchical {

/// Everything that decides about a block's schedules and their bytes, in its own numbers; not its times.
std::string structure_of(const Subproblem& block);

/// Numbers classes of equal blocks as they come.
class EqualBlocks {
  public:
    /// `tolerance`: how far the times of equal blocks may be apart, as a share of the block's time.
    explicit EqualBlocks(double tolerance) : tolerance_(tolerance) {}

    /// The class of the block; a new one where it has no equal before it.
    int class_of(const Subproblem& block);
    int size() const { return size_; }

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
