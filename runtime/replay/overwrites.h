// Lets kernels that write in place do so without harm to what is read later.
#pragma once

#include <vector>

#include "runtime/replay/bound_model.h"

namespace rematlas {

class Overwrites {
  public:
    explicit Overwrites(const BoundModel& model) : model_(model) {}

    /// Before the kernel: lets it look at copies where the old contents must stay. `in_place`: the step is
    /// `run_inplace`.
    void begin(OpId op, bool in_place, OperandTable& operands);
    /// After the kernel: what was written gets its name, and the old contents are found under theirs again.
    void end(OpId op, bool in_place, OperandTable& operands);
    void clear() { copies_.clear(); }

  private:
    bool copies(const Overwrite& overwrite, bool in_place) const;

    const BoundModel& model_;
    std::vector<c10::Storage>
        copies_;  ///< that the kernel of the op writes to, in the order of its overwrites
};

}  // namespace rematlas
