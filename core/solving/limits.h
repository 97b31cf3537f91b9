// How long a solver may work, and when it must stop: its time limit or its stop token, whichever comes first.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stop_token>

namespace rematlas {

struct Limits {
    std::chrono::nanoseconds time = std::chrono::seconds(60);  ///< wall clock for the whole call
    /// The gap at which an anytime solver ends by itself, as a share of the bound; 0: at a proof only.
    double gap = 1e-3;
    std::stop_token stop{};  ///< checked at least every 50 ms: the solver then returns its best so far
    std::uint64_t seed = 1;  ///< equal seeds, threads and step counts give equal answers
    int threads = 1;
    /// More wall clock for a better bound, after the solver has ended with a gap. Planning spends it
    /// (planning/solve.h).
    std::chrono::nanoseconds bound_time{0};
    /// Folder where solvers may leave files for later runs of the program; empty: no folder. Answers do not
    /// depend on it, except through time limits and through op times that differ a little from run to run.
    std::filesystem::path cache{};
};

/// Returns the share of the time: 0.25 of a minute is 15 seconds.
inline std::chrono::nanoseconds share_of(std::chrono::nanoseconds time, double share) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(share * static_cast<double>(time.count())));
}

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
