// Checks solvers' answers, for several tests.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "core/checking/check.h"
#include "core/solving/solver.h"

namespace rematlas {

/// Checks an answer with the independent checker. A solution must keep the budget and have the time and peak
/// that it states.
inline void expect_valid(const Graph& graph, Bytes budget, const Answer& answer, const std::string& what) {
    if (const auto* infeasible = std::get_if<Infeasible>(&answer)) {
        EXPECT_TRUE(!infeasible->proven || infeasible->needed > budget) << what;
        EXPECT_TRUE(!infeasible->smallest_found || *infeasible->smallest_found > budget) << what;
        return;
    }
    const Solution& solution = std::get<Solution>(answer);
    Schedule schedule;
    schedule.steps = solution.steps;
    schedule.homes = solution.homes;
    schedule.graph_sha256 = graph.sha256;
    const CheckReport report = check(graph, schedule, budget);
    EXPECT_TRUE(report.ok()) << what << ": " << (report.violations.empty() ? "" : report.violations.front());
    EXPECT_EQ(report.time, solution.time) << what;
    EXPECT_EQ(report.peak, solution.peak) << what;
}

inline std::string named(const Graph& graph, const Solver& solver, Bytes budget) {
    return graph.name + " " + std::string(solver.name()) + " at " + std::to_string(budget.value);
}

inline std::optional<std::int64_t> time_of(const Answer& answer) {
    const auto* solution = std::get_if<Solution>(&answer);
    return solution ? std::optional(solution->time.value) : std::nullopt;
}

/// Returns the time of the answer that is found within `limit`, or nullopt if no schedule is found.
inline std::optional<std::int64_t> time_of(const Solver& solver, const Problem& problem, std::int64_t budget,
                                           std::chrono::seconds limit = std::chrono::seconds(20)) {
    return time_of(solver.solve(problem, Bytes(budget), {.time = limit}, {}));
}

}  // namespace rematlas
