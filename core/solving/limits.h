// The limits of a solver's work. The solver must stop at its time limit or when its stop token is set,
// whichever comes first.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stop_token>

namespace rematlas {

struct Limits {
    std::chrono::nanoseconds time = std::chrono::seconds(60);  ///< wall clock for the whole call
    /// The gap, as a share of the bound, at which an anytime solver ends before its time limit. 0: the solver
    /// ends early only if its schedule is proven optimal.
    double gap = 1e-3;
    std::stop_token stop{};  ///< checked at least every 50 ms; if set, the solver returns its best answer
    std::uint64_t seed = 1;  ///< equal seeds and thread counts give equal answers unless time ends the search
    int threads = 1;
    /// Extra wall clock time to look for a better bound if the solver ended with a gap. `add_bound`
    /// (planning/solve.h) spends this time after the solver has returned.
    std::chrono::nanoseconds bound_time{0};
    /// Folder in which solvers may leave files for later runs of the program; empty: no folder. An answer can
    /// depend on these files only if a time limit ends the search, or if the op times are measured, because
    /// measured times differ a little from run to run.
    std::filesystem::path cache{};

    /// Returns these limits with another time.
    Limits with_time(std::chrono::nanoseconds other) const {
        Limits limits = *this;
        limits.time = other;
        return limits;
    }
};

/// Returns the share of the time: 0.25 of a minute is 15 seconds.
inline std::chrono::nanoseconds share_of(std::chrono::nanoseconds time, double share) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(share * static_cast<double>(time.count())));
}

/// A clock that starts when it is constructed. `passed` reads the system's clock (about 30 ns), so inner
/// loops should call it only every few thousand operations.
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

    /// The share of the time limit, 0 .. 1, that has passed.
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
