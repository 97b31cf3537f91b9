#include "runtime/replay/random_turns.h"

#include <algorithm>

namespace rematlas {

void RandomTurns::clear() {
    for (std::unique_ptr<GeneratorState>& state : before_) state = nullptr;
    next_ = 0;
}

void RandomTurns::skip() {
    before_[next_] = model_.device.generator_state();
    const std::unique_ptr<GeneratorState> moved = model_.device.generator_state();
    moved->advance(model_.tape.ops[model_.random_ops[next_]].draws.value());
    model_.device.set_generator_state(*moved);
    ++next_;
}

void RandomTurns::skip_to(int end) {
    while (next_ < end) skip();
}

std::unique_ptr<GeneratorState> RandomTurns::enter(OpId op) {
    const int turn = model_.ops[op].turn;
    if (capturing) {
        model_.device.place_generator(model_.draws_before(turn));
        return nullptr;
    }
    skip_to(turn);
    if (next_ == turn) {
        ++next_;
        before_[turn] = model_.device.generator_state();
        return nullptr;
    }
    auto now = model_.device.generator_state();
    model_.device.set_generator_state(*before_[turn]);
    return now;
}

void RandomTurns::leave_before(OpId op, bool in_kernel) {
    if (capturing) return;
    const auto& ops = model_.random_ops;
    const int turn = static_cast<int>(std::lower_bound(ops.begin(), ops.end(), op) - ops.begin());
    // If the kernel has drawn in the captured order, the generator already has the right state.
    if (in_kernel && model_.ops[op].turn >= 0 && turn + 1 == next_) return;
    if (turn < next_) {
        model_.device.set_generator_state(*before_[turn]);
        next_ = turn;
    }
    while (next_ < turn && model_.tape.ops[ops[next_]].draws) skip();
}

}  // namespace rematlas
