#include "app/cli/run_answer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/sizes.h"
#include "core/planning/run_totals.h"

namespace rematlas {
namespace {

using nlohmann::json;

constexpr double kNanoseconds = 1e9;  // nanoseconds per second

json run_json(const RunSteps& run, const RunTotals& totals, std::size_t top) {
    json out = {{"format", "rematlas.run"}, {"model", run.model}, {"steps", run.steps.size()}};
    if (run.skipped > 0) out["skipped_lines"] = run.skipped;
    if (run.budget) {
        out["budget_bytes"] = run.budget->value;
        out["steps_over_budget"] = totals.over_budget;
    }
    out["steps_over_plan"] = totals.over_plan;
    out["by"] = json::object();
    for (std::size_t runner = 0; runner < kStepRunners; ++runner) {
        const RunnerTotals& of = totals.by[runner];
        if (of.steps == 0) continue;
        out["by"][std::string(to_string(static_cast<StepRunner>(runner)))] = {
            {"steps", of.steps},
            {"median_seconds", of.median_seconds},
            {"highest_peak_bytes", of.highest_peak.value}};
    }
    out["reasons"] = json::array();
    for (std::size_t i = 0; i < std::min(top, totals.reasons.size()); ++i)
        out["reasons"].push_back({{"why", totals.reasons[i].why}, {"steps", totals.reasons[i].steps}});
    if (!run.steps.empty()) {
        const RunStep& last = run.steps.back();
        out["last"] = {{"step", last.number},
                       {"by", to_string(last.by)},
                       {"seconds", last.seconds},
                       {"peak_bytes", last.peak.value}};
        if (last.planned_peak) out["last"]["planned_peak_bytes"] = last.planned_peak->value;
        if (last.planned_overhead) out["last"]["overhead"] = *last.planned_overhead;
    }
    return out;
}

std::string steps_text(std::size_t steps) {
    return std::to_string(steps) + (steps == 1 ? " step" : " steps");
}

void print_run(const RunSteps& run, const RunTotals& totals, std::size_t top) {
    std::printf("%s: %s", run.model.c_str(), steps_text(run.steps.size()).c_str());
    if (run.budget) std::printf(", a budget of %s", format_bytes(*run.budget).c_str());
    if (run.skipped > 0)
        std::printf("\nskipped lines: %zu, the last of them %s", run.skipped, run.why_skipped.c_str());
    std::printf("\n\n%-12s %8s %14s %14s\n", "run by", "steps", "median time", "highest peak");
    for (std::size_t runner = 0; runner < kStepRunners; ++runner) {
        const RunnerTotals& of = totals.by[runner];
        if (of.steps == 0) continue;
        const Nanoseconds median(std::llround(of.median_seconds * kNanoseconds));
        std::printf("%-12s %8zu %14s %14s\n", std::string(to_string(static_cast<StepRunner>(runner))).c_str(),
                    of.steps, format_duration(median).c_str(), format_bytes(of.highest_peak).c_str());
    }
    std::printf("\n");
    if (run.budget)
        std::printf("above the budget: %s\n", steps_text(totals.over_budget).c_str());
    else
        std::printf("the budget is a share of the step, which this file does not tell in bytes\n");
    std::printf("above what the plan foretold: %s\n", steps_text(totals.over_plan).c_str());
    if (!totals.reasons.empty()) std::printf("\nwhy the original ran\n");
    for (std::size_t i = 0; i < std::min(top, totals.reasons.size()); ++i)
        std::printf("  %8zux  %s\n", totals.reasons[i].steps, totals.reasons[i].why.c_str());
}

}  // namespace

Result<Exit> inspect_run(const std::string& path, std::size_t top, const OutputFlags& flags) {
    const Result<RunSteps> run = read_run(path);
    if (!run) return run.error();
    const RunTotals totals = totals_of(*run);
    if (flags.json)
        print_json(run_json(*run, totals, top));
    else
        print_run(*run, totals, top);
    return Exit::success;
}

}  // namespace rematlas
