// Preloaded into a process, this library makes std::chrono::steady_clock run ten times as fast. So every
// search with a time limit gets a tenth of its time. The clocks of the C library, which Qt and the tests' own
// time limits use, do not change.
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <cstdint>

namespace {

constexpr std::int64_t haste = 10;

std::int64_t nanoseconds() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

}  // namespace

/// Replaces `std::chrono::steady_clock::now`. Its time_point is returned as a plain integer of nanoseconds.
extern "C" std::int64_t hurried_now() asm("_ZNSt6chrono3_V212steady_clock3nowEv");
extern "C" std::int64_t hurried_now() {
    return nanoseconds() * haste;
}

/// Called by libstdc++ to wait until a time of the steady clock. The kernel's clock is not hurried, so the
/// time is converted to that clock.
extern "C" int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* until) {
    using Wait = int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
    static const auto wait = reinterpret_cast<Wait*>(dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
    if (clock != CLOCK_MONOTONIC) return wait(condition, mutex, clock, until);
    const std::int64_t asked = (until->tv_sec * std::int64_t{1'000'000'000} + until->tv_nsec) / haste;
    const timespec really{.tv_sec = asked / 1'000'000'000, .tv_nsec = asked % 1'000'000'000};
    return wait(condition, mutex, clock, &really);
}
