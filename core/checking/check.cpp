#include "core/checking/check.h"

#include <algorithm>
#include <cmath>

#include "core/base/sizes.h"
#include "core/checking/check_addresses.h"
#include "core/checking/check_pins.h"
#include "core/checking/play.h"

namespace rematlas {
namespace {

constexpr double kGapRounding = 1e-6;     ///< relative error of the overheads from which a gap is computed
constexpr double kMostOptimalGap = 1e-6;  ///< largest gap of a schedule that may be called optimal; allows
                                          ///< for rounding only

/// Compares the schedule's own figures and the budgets with the figures of the checker's simulation in
/// `report`.
void compare(const Schedule& schedule, const CheckBudgets& budgets, CheckReport& report) {
    const auto violation = [&](const std::string& what) {
        report.violations.push_back("at the end: " + what);
    };
    const bool predicts = schedule.peak.value > 0;
    if (predicts && schedule.peak != report.peak) {
        violation("the peak is " + std::to_string(report.peak.value) + " bytes, the schedule predicts " +
                  std::to_string(schedule.peak.value));
    }
    if (schedule.host_peak && *schedule.host_peak != report.host_peak) {
        violation("the peak on the host is " + std::to_string(report.host_peak.value) +
                  " bytes, the schedule predicts " + std::to_string(schedule.host_peak->value));
    }
    if (predicts && std::abs(schedule.overhead - report.overhead) > 1e-6 * report.overhead) {
        violation("the overhead is " + std::to_string(report.overhead) + ", the schedule predicts " +
                  std::to_string(schedule.overhead));
    }
    // The simulator and the checker both count whole nanoseconds by the same rules
    // (docs/concepts/schedules.md). There is no rounding error, so the times must be equal.
    if (predicts && schedule.time.value > 0 && schedule.time != report.time) {
        violation("the time is " + std::to_string(report.time.value) + " ns, the schedule predicts " +
                  std::to_string(schedule.time.value));
    }
    if (schedule.bound && schedule.bound->overhead > report.overhead * (1 + 1e-6)) {
        violation("the overhead is " + std::to_string(report.overhead) +
                  ", below the bound that the schedule names, " + std::to_string(schedule.bound->overhead));
    }
    if (schedule.bound && schedule.status == "optimal" &&
        report.overhead > schedule.bound->overhead * (1 + kMostOptimalGap)) {
        violation("the schedule is called optimal, but its overhead, " + std::to_string(report.overhead) +
                  ", is above the bound that it names, " + std::to_string(schedule.bound->overhead));
    }
    if (schedule.bound && schedule.bound->overhead > 0) {
        const double gap = std::max(0.0, report.overhead / schedule.bound->overhead - 1);
        if (!(std::abs(schedule.bound->gap - gap) <= kGapRounding * (1 + gap))) {
            violation("the gap to the bound is " + std::to_string(gap) + ", the schedule says " +
                      std::to_string(schedule.bound->gap));
        }
    }
    const auto over = [&](std::size_t step, const char* peak, Bytes bytes, Bytes budget) {
        report.violations.push_back("step " + std::to_string(step) + ": the " + peak + ", " +
                                    std::to_string(bytes.value) + " bytes, is over the budget, " +
                                    std::to_string(budget.value) + ", by " + format_bytes(bytes - budget));
    };
    if (budgets.device && report.peak > *budgets.device)
        over(report.peak_step, "peak", report.peak, *budgets.device);
    if (budgets.host && report.host_peak > *budgets.host)
        over(report.host_peak_step, "peak on the host", report.host_peak, *budgets.host);
}

/// Checks the planned addresses with their own checker, and compares the arena with the budget.
void check_arena(const Graph& graph, const Schedule& schedule, std::optional<Bytes> budget,
                 CheckReport& report) {
    const Bytes arena = schedule.addresses->arena;
    if (Result<void> sound =
            check_addresses(graph, schedule.steps, *schedule.addresses, true, schedule.homes);
        !sound)
        report.violations.push_back(sound.error().message);
    else if (budget && arena > *budget)
        report.violations.push_back("the arena, " + std::to_string(arena.value) +
                                    " bytes, is over the budget, " + std::to_string(budget->value) + ", by " +
                                    format_bytes(arena - *budget));
}

}  // namespace

CheckReport check(const Graph& graph, const Schedule& schedule, const CheckBudgets& given) {
    if (!schedule.graph_sha256.empty() && !graph.sha256.empty() && schedule.graph_sha256 != graph.sha256) {
        CheckReport report;
        report.violations.push_back("the schedule belongs to another graph: it names digest " +
                                    schedule.graph_sha256.substr(0, 12) + "..., this graph has " +
                                    graph.sha256.substr(0, 12) + "...");
        return report;
    }
    CheckBudgets budgets = given;
    if (!budgets.device && schedule.budget.value > 0) budgets.device = schedule.budget;
    if (!budgets.host) budgets.host = schedule.host_budget;
    CheckReport report = play_schedule(graph, schedule);
    if (report.ok()) compare(schedule, budgets, report);
    if (report.ok() && !schedule.pins.empty())
        report.violations = broken_pins(graph, schedule.steps, schedule.pins);
    if (report.ok() && schedule.addresses) check_arena(graph, schedule, budgets.device, report);
    return report;
}

CheckReport check(const Graph& graph, const Schedule& schedule, std::optional<Bytes> budget) {
    return check(graph, schedule, CheckBudgets{.device = budget});
}

}  // namespace rematlas
