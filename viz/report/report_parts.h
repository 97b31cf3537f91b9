// The parts of a report. Each part is a few sections of the page.
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule.h"
#include "viz/report/html.h"
#include "viz/report/report.h"
#include "viz/report/step_figures.h"

namespace rematlas {

/// Returns one sentence each on: what the step needs, whether it fits, what that costs, and how much better
/// it could be.
std::vector<std::string> schedule_answer(const Graph& graph, const Schedule& schedule,
                                         const StepFigures& figures);
/// The same for the step without recomputation, if nothing was planned: what the step needs, and what is
/// proven for all plans.
std::vector<std::string> plain_answer(const Graph& graph, const StepFigures& figures);
/// Returns sentences on the least memory for some more time, and on the smallest memory that was found.
std::vector<std::string> sweep_answer(const Sweep& sweep, const Graph* graph);

Result<void> add_schedule_sections(HtmlPage& page, const Graph& graph, const Schedule& schedule,
                                   const StepFigures& figures);
/// `number` is the number of the sweep among several, from 1 on; 0 if it is the only one.
Result<void> add_sweep_sections(HtmlPage& page, const Sweep& sweep, const Graph* graph, int number);

/// Adds a table with a row for each plan: what it needs and costs.
void add_plan_table(HtmlPage& page, const std::vector<ReportedSchedule>& schedules,
                    const std::vector<StepFigures>& figures);

/// Adds solver, configuration, bound, graph and what was checked. `schedule` is the schedule of the sections
/// before, or null; `is_planned` says whether it differs from the step without recomputation.
void add_making(HtmlPage& page, const ReportOf& of, const Schedule* schedule, bool is_planned);

}  // namespace rematlas
