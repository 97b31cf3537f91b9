// Lets kernels write in place while tensors that are read later keep their contents.
#pragma once

#include <vector>

#include "runtime/replay/bound_model.h"

namespace rematlas {

class Overwrites {
  public:
    explicit Overwrites(const BoundModel& model) : model_(model) {}

    /// Must be called before the kernel. If old contents must stay, makes the kernel work on copies.
    /// `in_place`: the step is `run_inplace`.
    void begin(OpId op, bool in_place, OperandTable& operands);
    /// Must be called after the kernel. The written memory becomes the new tensor. An old tensor whose
    /// contents must stay has its old contents again.
    void end(OpId op, bool in_place, OperandTable& operands);
    void clear() { copies_.clear(); }

  private:
    bool copies(const Overwrite& overwrite, bool in_place) const;

    const BoundModel& model_;
    std::vector<c10::Storage>
        copies_;  ///< copies that the kernel of the op writes to, in the order of the op's overwrites
};

}  // namespace rematlas
