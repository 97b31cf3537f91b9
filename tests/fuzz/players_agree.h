// The comparison of the two players of schedules, which share no code.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/checking/check.h"
#include "core/schedule/simulate.h"

namespace rematlas {

/// Plays the schedule with the simulator and with the checker. Aborts unless they agree on whether the
/// schedule is possible, on its time and on its peaks. The simulator need not find what violates the end of a
/// schedule: it checks the end only if the schedule is cyclic, and then only the places of the residents.
inline void players_must_agree(const Graph& graph, const Schedule& schedule) {
    const CheckReport report = check(graph, schedule);
    const Result<Simulation> played = simulate(graph, schedule);
    const bool is_possible =
        std::all_of(report.violations.begin(), report.violations.end(),
                    [](const std::string& violation) { return violation.starts_with("at the end:"); });
    if (!schedule.homes.cyclic && static_cast<bool>(played) != is_possible) std::abort();
    if (schedule.homes.cyclic && report.ok() && !played) std::abort();
    if (!report.ok() || !played) return;
    if (played->time != report.time || played->peak != report.peak || played->host_peak != report.host_peak)
        std::abort();
}

}  // namespace rematlas
