// The clock of benches: the processor time of this thread, which other programs on the machine disturb
// little.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace rematlas {

inline double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Computes wall-clock limits that give each solve the same processor time. If other programs slowed down the
/// previous solve, the next limit is longer.
class SharedProcessor {
  public:
    explicit SharedProcessor(double seconds) : seconds_(seconds) {
        limit();
        while (cpu_seconds() - cpu_ < kTried) {
        }
        note_end();
    }

    std::chrono::nanoseconds limit() {
        cpu_ = cpu_seconds();
        wall_ = std::chrono::steady_clock::now();
        return std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * seconds_ * slowdown_));
    }
    void note_end() {
        const double cpu = cpu_seconds() - cpu_;
        const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_).count();
        if (cpu >= std::min(kTried, 0.1 * seconds_)) slowdown_ = std::clamp(wall / cpu, 1.0, 8.0);
    }

  private:
    static constexpr double kTried = 0.1;  ///< processor time of the first measurement, in seconds
    const double seconds_;
    double slowdown_ = 1, cpu_ = 0;
    std::chrono::steady_clock::time_point wall_;
};

}  // namespace rematlas
