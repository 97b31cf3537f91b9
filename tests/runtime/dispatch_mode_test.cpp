// Tests dispatch modes that see every op: which of several modes sees an op, and that the previous state
// returns even if modes end in an unusual order.
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <memory>

#include "runtime/dispatch/mode.h"

namespace rematlas {
namespace {

class Counting final : public DispatchMode {
  public:
    explicit Counting(bool takes_inner) : takes_inner_(takes_inner) {}
    void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) override {
        ++calls;
        run_kernel(op, keys, stack);
    }
    bool takes_inner() const override { return takes_inner_; }

    int calls = 0;

  private:
    bool takes_inner_;
};

int calls_of(Counting& mode) {
    mode.calls = 0;
    at::ones({2});
    return mode.calls;
}

TEST(DispatchModes, OneThatIsSetAsideSeesNothingAndIsInForceAgain) {
    Counting outer(true), unseen(false);
    const DispatchModeGuard around(outer);
    {
        const auto guard = DispatchModeGuard::unseen_by_outer(unseen);
        ASSERT_TRUE(guard);
        EXPECT_EQ(calls_of(outer), 0);
        EXPECT_GT(calls_of(unseen), 0);
    }
    EXPECT_GT(calls_of(outer), 0);
    EXPECT_EQ(calls_of(unseen), 0);
}

TEST(DispatchModes, OneThatEndsWhileItIsSetAsideIsGone) {
    auto outer = std::make_unique<Counting>(true);
    Counting unseen(false), later(true);
    auto around = std::make_unique<DispatchModeGuard>(*outer);
    auto guard = DispatchModeGuard::unseen_by_outer(unseen);
    ASSERT_TRUE(guard);
    around.reset();
    outer.reset();
    EXPECT_GT(calls_of(unseen), 0) << "the other goes on";
    guard.reset();
    EXPECT_EQ(calls_of(unseen), 0);
    const DispatchModeGuard next(later);
    EXPECT_GT(calls_of(later), 0);
}

TEST(DispatchModes, OneWithinAnotherGoesOnWhereTheOtherEnds) {
    auto outer = std::make_unique<Counting>(true);
    Counting inner(false), later(true);
    auto around = std::make_unique<DispatchModeGuard>(*outer);
    auto within = std::make_unique<DispatchModeGuard>(inner);
    EXPECT_GT(calls_of(inner), 0);
    around.reset();
    outer.reset();
    EXPECT_GT(calls_of(inner), 0);
    within.reset();
    EXPECT_EQ(calls_of(inner), 0);
    const DispatchModeGuard next(later);
    EXPECT_GT(calls_of(later), 0);
}

}  // namespace
}  // namespace rematlas
