#include "core/planning/run_totals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace rematlas {
namespace {

RunSteps random_run(unsigned seed) {
    std::mt19937 random(seed);
    RunSteps run{.model = "Net", .budget = Bytes(500), .steps = {}};
    for (int i = 0; i < 300; ++i) {
        RunStep step{.by = static_cast<StepRunner>(random() % kStepRunners),
                     .seconds = static_cast<double>(random() % 1000) / 1000,
                     .peak = Bytes(random() % 1000)};
        if (step.by == StepRunner::plan) step.planned_peak = Bytes(random() % 1000);
        if (step.by == StepRunner::original) step.why = "reason " + std::to_string(random() % 5);
        run.steps.push_back(step);
    }
    return run;
}

TEST(RunTotals, agree_with_counting_by_hand) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const RunSteps run = random_run(seed);
        const RunTotals totals = totals_of(run);
        std::size_t steps = 0, reasons = 0;
        for (std::size_t r = 0; r < kStepRunners; ++r) {
            std::vector<double> seconds;
            Bytes highest;
            for (const RunStep& step : run.steps) {
                if (step.by != static_cast<StepRunner>(r)) continue;
                seconds.push_back(step.seconds);
                highest = std::max(highest, step.peak);
            }
            std::sort(seconds.begin(), seconds.end());
            EXPECT_EQ(totals.by[r].steps, seconds.size());
            EXPECT_EQ(totals.by[r].highest_peak, highest);
            EXPECT_EQ(totals.by[r].median_seconds, seconds.empty() ? 0 : seconds[seconds.size() / 2]);
            steps += totals.by[r].steps;
        }
        EXPECT_EQ(steps, run.steps.size());
        EXPECT_EQ(totals.over_budget, static_cast<std::size_t>(std::count_if(
                                          run.steps.begin(), run.steps.end(),
                                          [](const RunStep& s) { return s.peak > Bytes(500); })));
        EXPECT_EQ(totals.over_plan, static_cast<std::size_t>(std::count_if(
                                        run.steps.begin(), run.steps.end(), [](const RunStep& s) {
                                            return s.planned_peak && s.peak > *s.planned_peak;
                                        })));
        EXPECT_TRUE(std::is_sorted(totals.reasons.begin(), totals.reasons.end(),
                                   [](const auto& a, const auto& b) { return a.steps > b.steps; }));
        for (const ReasonCount& reason : totals.reasons) reasons += reason.steps;
        EXPECT_EQ(reasons, totals.of(StepRunner::original).steps);
    }
}

TEST(RunTotals, of_a_run_that_grows_are_those_of_the_whole_run) {
    const RunSteps whole = random_run(7);
    RunSteps run{.model = whole.model, .budget = whole.budget, .steps = {}};
    RunTotaller totaller;
    for (const RunStep& step : whole.steps) {
        run.steps.push_back(step);
        if (run.steps.size() % 7 != 0) continue;
        totaller.add(run);
        const RunTotals now = totals_of(run);
        EXPECT_EQ(totaller.totals().over_budget, now.over_budget);
        EXPECT_EQ(totaller.totals().over_plan, now.over_plan);
        for (std::size_t r = 0; r < kStepRunners; ++r)
            EXPECT_EQ(totaller.totals().by[r].median_seconds, now.by[r].median_seconds);
        EXPECT_EQ(totaller.totals().reasons.size(), now.reasons.size());
    }
}

TEST(RunTotals, of_a_run_without_steps_are_zero) {
    const RunTotals totals = totals_of({.model = "Net", .budget = {}, .steps = {}});
    EXPECT_EQ(totals.over_budget, 0u);
    EXPECT_TRUE(totals.reasons.empty());
    EXPECT_EQ(totals.of(StepRunner::plan).median_seconds, 0);
}

}  // namespace
}  // namespace rematlas
