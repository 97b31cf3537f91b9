// When a solver must stop: its time limit or its stop token, whichever comes first.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/solvers/solver.h"

namespace rematlas {

/// Starts counting when it is made. `passed` reads the clock (about 30 ns); call it every few thousand
/// operations of the inner loop.
class Deadline {
  public:
    explicit Deadline(const Limits& limits)
        : start_(Clock::now()),
          limit_(std::max(limits.time, std::chrono::nanoseconds(0))),
          stop_(limits.stop) {}

    bool passed() const { return stop_.stop_requested() || Clock::now() - start_ >= limit_; }

    std::chrono::nanoseconds left() const {
        return std::max<std::chrono::nanoseconds>(limit_ - (Clock::now() - start_),
                                                  std::chrono::nanoseconds(0));
    }

    /// Share of the time limit that has gone by, 0 .. 1.
    double fraction() const {
        if (limit_.count() == 0) return 1;
        return std::min(1.0, std::chrono::duration<double>(Clock::now() - start_) /
                                 std::chrono::duration<double>(limit_));
    }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_;
    std::chrono::nanoseconds limit_;
    std::stop_token stop_;
};

}  // namespace rematlas
