#include "runtime/replay/random_turns.h"

namespace rematlas {

void RandomTurns::begin(const StepPlan& plan) {
    clear();
    plan_ = &plan;
}

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
    if (recording) {
        model_.device.place_generator(model_.draws_before(turn));
        return nullptr;
    }
    skip_to(turn);
    if (next_ == turn) {
        ++next_;
        if (plan_->runs[op] > 1) before_[turn] = model_.device.generator_state();
        return nullptr;
    }
    auto now = model_.device.generator_state();
    model_.device.set_generator_state(*before_[turn]);
    return now;
}

}  // namespace rematlas
