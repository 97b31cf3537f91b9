// The data for the script of a report's page: the graph, its plans and its sweeps as one JSON object.
//
// Columns of numbers are written as texts (packed_column.h). Times are in nanoseconds, sizes in bytes.
// Fields:
// - "name", "made_by"; "strings": every name once; columns have indices into it.
// - "tensors": "name" (as differences), "kind" (in the order of TensorKind), "bytes", "layout": one for each
//   tensor.
// - "ops": "name", "module", "source", "phase", "time", "workspace", "of" (the forward op of a backward op;
//   -1: none; as differences), "group", "flags" (the sum of 1: random, and 2: runs only once): one for each
//   op. "inputs", "outputs": for each op the count, then the tensors, each as the difference from the one
//   before. "inplace": for each op the count, then pairs (out, in), as differences too.
// - "classes": classes of modules, by path.
// - "groups": the parts of the model that a picture distinguishes; "results": tensors, as differences.
// - "plans": the schedules, and the step without recomputation, whose index is "plain". Steps are columns.
//   "kinds": one letter each (r run, i run in place, f free, o offload, t fetch, d drop, h run on the host).
//   "ids": op or tensor, as differences. "during": bytes on the device, as differences. "gaps": time from the
//   end of the step before to the start of the step; "lengths": time of the step minus the time of its op;
//   both are empty if all are 0. "start": tensors on the device at the start, as differences. "host": bytes
//   on the host after each step, as differences; empty if all are 0. "beside": four numbers each: queue (0 to
//   the host, 1 to the device, 2 ops on the host, 3 + i the collectives of the queue with the name
//   "queues"[i]), step, start, length. "waits": three numbers each: step, start, length.
// - "curves", "bounds": what the sweeps found and proved; a point has the index of its plan, or -1.
// - "served": true if the page is served; missing in a file.
// - "least": every schedule without copies needs at least these bytes; "blocks": see block_geometry.h, or
//   {"missing": why}.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "viz/report/report.h"

namespace rematlas {

/// Errors: a schedule that cannot be simulated; the message names its first step that fails. Without a graph,
/// the object has only curves and bounds.
Result<nlohmann::json> page_data(const ReportOf& of);

/// Returns the plans of a page, in order: the given plans, then `plain`, which is the step without
/// recomputation, unless a given plan has the same steps.
std::vector<ReportedSchedule> plans_of_page(const std::vector<ReportedSchedule>& given,
                                            const Schedule& plain);

/// Returns an entry of "plans". Fails if the schedule cannot be simulated.
Result<nlohmann::json> plan_data(const Graph& graph, const ReportedSchedule& reported);

/// Returns "curves" and "bounds" of one sweep. Each point of the sweep refers to its plan in `plans`.
nlohmann::json sweep_data(const Sweep& sweep, const std::vector<ReportedSchedule>& plans);

}  // namespace rematlas
