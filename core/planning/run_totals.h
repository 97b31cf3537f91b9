// Totals of a training run's steps: who ran the steps, how long they took, and whether the budget held.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "core/planning/run_steps.h"

namespace rematlas {

struct RunnerTotals {
    std::size_t steps = 0;
    double median_seconds = 0;  ///< 0 without steps; of an even number the greater of the two in the middle
    Bytes highest_peak = {};
};

struct ReasonCount {
    std::string why;
    std::size_t steps = 0;
};

struct RunTotals {
    std::array<RunnerTotals, kStepRunners> by;  ///< by StepRunner
    std::size_t over_budget = 0;                ///< steps whose peak is above the budget, whoever ran them
    std::size_t over_plan = 0;                  ///< steps whose peak is above what their plan foretold
    std::vector<ReasonCount> reasons;           ///< of steps that the original ran, the most frequent first

    const RunnerTotals& of(StepRunner runner) const { return by[static_cast<std::size_t>(runner)]; }
};

/// Totals of a run that grows: each step is counted once.
///
///     RunTotaller totaller;
///     totaller.add(run);      // again after each growth
///     show(totaller.totals());
class RunTotaller {
  public:
    /// Counts the steps that came since the call before. Cost: linear in these, times the logarithm of all.
    void add(const RunSteps& run);
    const RunTotals& totals() const { return totals_; }

  private:
    /// The seconds of one runner, in halves.
    struct Halves {
        std::priority_queue<double> lower;
        std::priority_queue<double, std::vector<double>, std::greater<>> upper;  ///< as many, or one more

        void add(double seconds);
    };

    RunTotals totals_ = {};
    std::size_t counted_ = 0;  ///< steps
    std::array<Halves, kStepRunners> seconds_;
    std::map<std::string, std::size_t> reasons_;
};

/// Cost: linear in the steps, times their logarithm.
RunTotals totals_of(const RunSteps& run);

}  // namespace rematlas
