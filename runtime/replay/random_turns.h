// Keeps the random number generator where the captured step has it, whatever the order of the schedule.
//
//     turns.clear();
//     const auto restore = turns.enter(op);    // the kernel now draws what it drew when it was captured
//     ... run the kernel ...
//     if (restore) device.set_generator_state(*restore);
#pragma once

#include <memory>
#include <vector>

#include "runtime/replay/bound_model.h"

namespace rematlas {

class RandomTurns {
  public:
    explicit RandomTurns(const BoundModel& model) : model_(model), before_(model.random_ops.size()) {}

    /// Puts the generator where the captured step had it before this op. Returns the state to restore after
    /// the op, or null when it is the op's turn and the generator moves on with it.
    std::unique_ptr<GeneratorState> enter(OpId op);
    /// Moves the generator over all turns below `end` that have not come yet.
    void skip_to(int end);
    /// The step ends before this op, or within its kernel. The generator goes where the captured step has
    /// it at that moment.
    void leave_before(OpId op, bool in_kernel);
    /// To be called before a step or after it.
    void clear();

    /// True while the device captures graphs. Then the generator is placed relative to the start of the
    /// captured step.
    bool capturing = false;

  private:
    void skip();

    const BoundModel& model_;
    std::vector<std::unique_ptr<GeneratorState>> before_;  ///< state of the generator before each past turn
    int next_ = 0;                                         ///< the generator stands before this turn
};

}  // namespace rematlas
