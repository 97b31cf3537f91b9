// The parts of a report, each a few sections of the page.
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule.h"
#include "viz/report/html.h"
#include "viz/report/report.h"
#include "viz/report/step_figures.h"

namespace rematlas {

/// One sentence each: what the step needs, whether it fits, what that costs, how much better it could
/// be.
std::vector<std::string> schedule_answer(const Graph& graph, const Schedule& schedule,
                                         const StepFigures& figures);
/// The same of the step without recomputation, when nothing was planned: what it needs, and what is
/// proven of all plans.
std::vector<std::string> plain_answer(const Graph& graph, const StepFigures& figures);
/// What the least memory is for some more time, and the smallest memory found.
std::vector<std::string> sweep_answer(const Sweep& sweep, const Graph* graph);

Result<void> add_schedule_sections(HtmlPage& page, const Graph& graph, const Schedule& schedule,
                                   const StepFigures& figures);
/// One of several sweeps has a number, from 1 on; 0: it is the only one.
Result<void> add_sweep_sections(HtmlPage& page, const Sweep& sweep, const Graph* graph, int number);

/// A row a plan: what it needs and costs.
void add_plan_table(HtmlPage& page, const std::vector<ReportedSchedule>& schedules,
                    const std::vector<StepFigures>& figures);

/// Solver, configuration, bound, graph and what was checked. `schedule`: that the sections before tell
/// of, null without one; `is_planned`: it is not the step without recomputation.
void add_making(HtmlPage& page, const ReportOf& of, const Schedule* schedule, bool is_planned);

}  // namespace rematlas
