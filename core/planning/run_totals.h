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
    /// 0 if there are no steps; for an even number of steps, the greater of the two middle values.
    double median_seconds = 0;
    Bytes highest_peak = {};
};

struct ReasonCount {
    std::string why;
    std::size_t steps = 0;
};

struct RunTotals {
    std::array<RunnerTotals, kStepRunners> by;  ///< index: StepRunner
    std::size_t over_budget = 0;                ///< steps whose peak is above the budget, whoever ran them
    std::size_t over_plan = 0;         ///< steps whose peak is above the peak that their plan predicted
    std::vector<ReasonCount> reasons;  ///< why the original ran steps; the most frequent reason comes first

    const RunnerTotals& of(StepRunner runner) const { return by[static_cast<std::size_t>(runner)]; }
};

/// Totals of a run that grows: each step is counted once.
///
///     RunTotaller totaller;
///     totaller.add(run);      // again after each growth
///     show(totaller.totals());
class RunTotaller {
  public:
    /// Counts the steps that were added to the run since the last call. Cost: linear in the new steps, times
    /// the logarithm of all steps.
    void add(const RunSteps& run);
    const RunTotals& totals() const { return totals_; }

  private:
    /// The seconds of all steps of one runner, split at the median into two halves.
    struct Halves {
        std::priority_queue<double> lower;
        /// The median and the larger values: as many as in `lower`, or one more.
        std::priority_queue<double, std::vector<double>, std::greater<>> upper;

        void add(double seconds);
    };

    RunTotals totals_ = {};
    std::size_t counted_ = 0;  ///< number of steps that are counted
    std::array<Halves, kStepRunners> seconds_;
    std::map<std::string, std::size_t> reasons_;
};

/// Returns the totals of a run. Cost: linear in the steps, times the logarithm of their number.
RunTotals totals_of(const RunSteps& run);

}  // namespace rematlas
