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

/// Returns sentences on the memory that the step needs, on whether it fits the budget (if there is one), on
/// the cost of the schedule, and on how far the schedule is from the best possible schedule.
std::vector<std::string> schedule_answer(const Graph& graph, const Schedule& schedule,
                                         const StepFigures& figures);
/// Returns sentences on the step without recomputation, for a report without plans: the memory that the step
/// needs, and the proven least memory.
std::vector<std::string> plain_answer(const Graph& graph, const StepFigures& figures);
/// Returns sentences on the least memory that was found for a few limits on the overhead, and for any
/// overhead.
std::vector<std::string> sweep_answer(const Sweep& sweep, const Graph* graph);

Result<void> add_schedule_sections(HtmlPage& page, const Graph& graph, const Schedule& schedule,
                                   const StepFigures& figures);
/// `number` is the number of the sweep, counted from 1, if there are several sweeps; else 0.
Result<void> add_sweep_sections(HtmlPage& page, const Sweep& sweep, const Graph* graph, int number);

/// Adds a table with a row for each plan: the memory that the plan needs, and its cost.
void add_plan_table(HtmlPage& page, const std::vector<ReportedSchedule>& schedules,
                    const std::vector<StepFigures>& figures);

/// Adds the solver, the configuration, the bound, the graph and the results of the checks. `schedule` is the
/// schedule that the sections before describe, or null; `is_planned` says whether it is one of the report's
/// schedules.
void add_making(HtmlPage& page, const ReportOf& of, const Schedule* schedule, bool is_planned);

}  // namespace rematlas
