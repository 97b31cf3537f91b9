// Gives each random op the state that the random number generator had at this op in the captured step,
// whatever the order of the schedule. An op's turn is its position among all random ops of the captured step.
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

    /// Sets the generator to its state before this op in the captured step. Returns the state to restore
    /// after the op. Returns null if the op comes in the captured order: then its draws advance the
    /// generator.
    std::unique_ptr<GeneratorState> enter(OpId op);
    /// Advances the generator over all turns below `end` that have not come yet.
    void skip_to(int end);
    /// Must be called when the step ends early, before this op or within its kernel. Sets the generator to
    /// its state in the captured step at that moment.
    void leave_before(OpId op, bool in_kernel);
    /// Forgets all turns. Must be called before or after a training step.
    void clear();

    /// Whether the device captures graphs. If so, `enter` sets the generator's position relative to the start
    /// of the captured step.
    bool capturing = false;

  private:
    void skip();

    const BoundModel& model_;
    std::vector<std::unique_ptr<GeneratorState>> before_;  ///< state of the generator before each past turn
    int next_ = 0;                                         ///< turn before which the generator stands now
};

}  // namespace rematlas
