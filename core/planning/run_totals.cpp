#include "core/planning/run_totals.h"

#include <algorithm>

namespace rematlas {

void RunTotaller::Halves::add(double seconds) {
    // Each value is first put into the half that must not grow. Then the greatest value of `lower` moves up,
    // or the least value of `upper` moves down.
    if (lower.size() == upper.size()) {
        lower.push(seconds);
        upper.push(lower.top());
        lower.pop();
    } else {
        upper.push(seconds);
        lower.push(upper.top());
        upper.pop();
    }
}

void RunTotaller::add(const RunSteps& run) {
    for (; counted_ < run.steps.size(); ++counted_) {
        const RunStep& step = run.steps[counted_];
        const auto runner = static_cast<std::size_t>(step.by);
        RunnerTotals& of_runner = totals_.by[runner];
        ++of_runner.steps;
        of_runner.highest_peak = std::max(of_runner.highest_peak, step.peak);
        seconds_[runner].add(step.seconds);
        of_runner.median_seconds = seconds_[runner].upper.top();
        if (run.budget && step.peak > *run.budget) ++totals_.over_budget;
        if (step.planned_peak && step.peak > *step.planned_peak) ++totals_.over_plan;
        if (!step.why.empty()) ++reasons_[step.why];
    }
    totals_.reasons.clear();
    for (const auto& [why, steps] : reasons_) totals_.reasons.push_back({why, steps});
    std::stable_sort(totals_.reasons.begin(), totals_.reasons.end(),
                     [](const ReasonCount& a, const ReasonCount& b) { return a.steps > b.steps; });
}

RunTotals totals_of(const RunSteps& run) {
    RunTotaller totaller;
    totaller.add(run);
    return totaller.totals();
}

}  // namespace rematlas
