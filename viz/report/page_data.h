// What the script of a report's page is told: the graph, its plans and its sweeps as one JSON object.
//
// Whole columns of numbers are texts (packed_column.h). Times are nanoseconds, sizes bytes. Fields:
// - "name", "made_by"; "strings": every name once, which columns point to.
// - "tensors": "name", "kind" (in the order of TensorKind), "bytes", "layout": one a tensor.
// - "ops": "name", "module", "source", "phase", "time", "workspace", "of" (-1: none), "group", "flags" (1:
//   random, 2: it runs once): one an op. "inputs", "outputs": for each op the count, then the
//   tensors, each as the change from the one before. "inplace": for each op the count, then pairs
//   (out, in).
// - "classes": of modules, by path.
// - "groups": the parts of the model that a picture tells apart; "results": tensors.
// - "plans": the schedules, and the step without recomputation, which "plain" points to. Steps are
//   columns: "kinds" a letter each (r run, i run in place, f free, o offload, t fetch, d drop, h run
//   on the host), "ids" changes, "during" changes: the bytes on the device while the step goes on.
//   "gaps": how long after the step before it starts, "lengths": how much longer than its op it
//   takes; both empty where all are 0. "start": tensors on the device at the start, changes. "host":
//   bytes on the host after each step, changes; empty where there never are any. "beside": four
//   numbers each: which queue (0 to the host, 1 to the device, 2 ops there), step, start, length.
//   "waits": three numbers each: step, start, length.
// - "curves", "bounds": what the sweeps found and proved; a point names its plan, or -1.
// - "served": true where the page is; not there in a file.
// - "least": no schedule without copies needs less; "blocks": block_geometry.h, or {"missing": why}.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "viz/report/report.h"

namespace rematlas {

/// Errors: a schedule that cannot be played, named by its first step that cannot. Without a graph there
/// are curves and bounds alone.
Result<nlohmann::json> page_data(const ReportOf& of);

/// The plans that a page of the graph holds, in their order: those given, then `plain`, which is the step
/// without recomputation, where none of them is that step.
std::vector<ReportedSchedule> plans_of_page(const std::vector<ReportedSchedule>& given,
                                            const Schedule& plain);

/// One of "plans". Errors: the schedule cannot be played.
Result<nlohmann::json> plan_data(const Graph& graph, const ReportedSchedule& reported);

/// "curves" and "bounds" of one sweep, whose points are looked for among the plans.
nlohmann::json sweep_data(const Sweep& sweep, const std::vector<ReportedSchedule>& plans);

}  // namespace rematlas
