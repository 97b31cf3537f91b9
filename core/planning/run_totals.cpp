#include "core/planning/run_totals.h"

#include <algorithm>
#include <map>

namespace rematlas {

RunTotals totals_of(const RunSteps& run) {
    RunTotals totals;
    std::array<std::vector<double>, kStepRunners> seconds;
    std::map<std::string, std::size_t> reasons;
    for (const RunStep& step : run.steps) {
        const auto runner = static_cast<std::size_t>(step.by);
        RunnerTotals& of_runner = totals.by[runner];
        ++of_runner.steps;
        of_runner.highest_peak = std::max(of_runner.highest_peak, step.peak);
        seconds[runner].push_back(step.seconds);
        if (run.budget && step.peak > *run.budget) ++totals.over_budget;
        if (step.planned_peak && step.peak > *step.planned_peak) ++totals.over_plan;
        if (!step.why.empty()) ++reasons[step.why];
    }
    for (std::size_t runner = 0; runner < kStepRunners; ++runner) {
        std::vector<double>& of_runner = seconds[runner];
        if (of_runner.empty()) continue;
        const auto middle = of_runner.begin() + static_cast<std::ptrdiff_t>(of_runner.size() / 2);
        std::nth_element(of_runner.begin(), middle, of_runner.end());
        totals.by[runner].median_seconds = *middle;
    }
    for (const auto& [why, steps] : reasons) totals.reasons.push_back({why, steps});
    std::stable_sort(totals.reasons.begin(), totals.reasons.end(),
                     [](const ReasonCount& a, const ReasonCount& b) { return a.steps > b.steps; });
    return totals;
}

}  // namespace rematlas
