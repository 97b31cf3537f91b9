// Keeps the random number generator where the captured step has it, whatever the order of the schedule.
//
//     turns.begin(plan);
//     const auto restore = turns.enter(op);    // the kernel now draws what it drew when it was captured
//     ... run the kernel ...
//     if (restore) device.set_generator_state(*restore);
#pragma once

#include <memory>
#include <vector>

#include "runtime/replay/bound_model.h"
#include "runtime/replay/step_plan.h"

namespace rematlas {

class RandomTurns {
  public:
    explicit RandomTurns(const BoundModel& model) : model_(model), before_(model.random_ops.size()) {}

    void begin(const StepPlan& plan);
    /// Puts the generator where the captured step had it before this op. Returns the state to restore after
    /// the op, or null when it is the op's turn and the generator moves on with it.
    std::unique_ptr<GeneratorState> enter(OpId op);
    /// Moves the generator over all turns below `end` that have not come yet.
    void skip_to(int end);
    void clear();

    /// While the device records: the generator is placed relative to where the recorded step begins.
    bool recording = false;

  private:
    void skip();

    const BoundModel& model_;
    const StepPlan* plan_ = nullptr;
    std::vector<std::unique_ptr<GeneratorState>> before_;  ///< per turn, where it is needed later
    int next_ = 0;                                         ///< the generator stands before this turn
};

}  // namespace rematlas
