// The price of a byte over the budget, for a search that should stay near the budget.
#pragma once

#include <algorithm>

namespace rematlas::annealing {

/// The price rises while too few states are within the budget, and falls while too many are (strategic
/// oscillation: Glover 1977). So the memory of the states stays near the budget, where the best schedules
/// are.
class Penalty {
  public:
    double value() const { return value_; }

    void begin_move() {
        if (++moves_ < kPeriod) return;
        const double within = static_cast<double>(within_) / moves_;
        if (within < kLeastWithin) value_ = std::min(kMost, value_ * kStep);
        if (within > kMostWithin) value_ = std::max(kLeast, value_ / kStep);
        moves_ = within_ = 0;
    }
    void end_move(bool within) { within_ += within; }

  private:
    static constexpr int kPeriod = 256;
    static constexpr double kLeastWithin = 0.15, kMostWithin = 0.40;  ///< share of states within the budget
    static constexpr double kStep = 1.1, kLeast = 1e-7, kMost = 1e5;

    double value_ = 0.3;
    int moves_ = 0, within_ = 0;
};

}  // namespace rematlas::annealing
