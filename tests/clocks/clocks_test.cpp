// Tests two facts on which tests with hurried searches rely: searches read the steady clock, and waits on
// this clock end in time.
#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/solving/limits.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

bool is_hurried() {
    const char* preloaded = std::getenv("LD_PRELOAD");
    return preloaded && std::strstr(preloaded, "hurried_clock");
}

std::chrono::nanoseconds kernel_clock() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST(Clocks, AHurriedSearchGetsATenthOfItsTime) {
    const auto began = kernel_clock();
    const Deadline deadline({.time = 200ms});
    while (!deadline.passed()) continue;
    const auto least = is_hurried() ? 20ms : 200ms;
    EXPECT_GE(kernel_clock() - began, least - 1ms);
    // On a busy machine the loop can take much longer, so the test has no upper limit. Instead, it checks
    // which clock is in use.
    const std::chrono::nanoseconds steady = std::chrono::steady_clock::now().time_since_epoch();
    EXPECT_EQ(steady > 5 * kernel_clock(), is_hurried());
}

TEST(Clocks, AWaitOnTheSteadyClockEnds) {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    const auto began = kernel_clock();
    EXPECT_FALSE(never.wait_for(lock, 100ms, [] { return false; }));
    EXPECT_GE(kernel_clock() - began, is_hurried() ? 9ms : 99ms);
}

}  // namespace
}  // namespace rematlas
