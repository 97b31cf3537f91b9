// Lets kernels write in place without harm to tensors that are read later.
#pragma once

#include <vector>

#include "runtime/replay/bound_model.h"

namespace rematlas {

class Overwrites {
  public:
    explicit Overwrites(const BoundModel& model) : model_(model) {}

    /// To be called before the kernel. Lets the kernel look at copies where the old contents must stay.
    /// `in_place`: the step is `run_inplace`.
    void begin(OpId op, bool in_place, OperandTable& operands);
    /// To be called after the kernel. The written memory becomes the new tensor, and the old contents are
    /// found under the old tensor again.
    void end(OpId op, bool in_place, OperandTable& operands);
    void clear() { copies_.clear(); }

  private:
    bool copies(const Overwrite& overwrite, bool in_place) const;

    const BoundModel& model_;
    std::vector<c10::Storage>
        copies_;  ///< copies that the kernel of the op writes to, in the order of the op's overwrites
};

}  // namespace rematlas
