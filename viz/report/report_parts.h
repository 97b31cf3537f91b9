// The parts of a report, each a few sections of the page.
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule.h"
#include "viz/report/html.h"
#include "viz/report/step_figures.h"

namespace rematlas {

/// One sentence each: what the step needs, whether it fits, what that costs, how much better it could be.
std::vector<std::string> schedule_answer(const Graph& graph, const Schedule& schedule,
                                         const StepFigures& figures);
/// What the least memory is for some more time, and the smallest memory found.
std::vector<std::string> sweep_answer(const Sweep& sweep, const Graph* graph);

Result<void> add_schedule_sections(HtmlPage& page, const Graph& graph, const Schedule& schedule,
                                   const StepFigures& figures);
Result<void> add_sweep_sections(HtmlPage& page, const Sweep& sweep, const Graph* graph);

/// Solver, configuration, bound, graph and what was checked. `figures`: of the schedule; null without one.
void add_making(HtmlPage& page, const Graph* graph, const Schedule* schedule, const StepFigures* figures,
                const std::string& made_by);

}  // namespace rematlas
