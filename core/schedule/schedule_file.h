// Reading and writing `NAME.schedule.json` and `NAME.plan`.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

class Fields;

/// Checks the form only (types, known step names, ids not negative); `check` says whether it fits a graph.
Result<Schedule> read_schedule(const std::filesystem::path& path);
Result<Schedule> parse_schedule(std::string_view text, std::string_view name);
std::string schedule_text(const Schedule& schedule);
/// Reads the field "bound" of an object in a file, where the object has one. A gap that is left out is
/// computed from `overhead`. Throws FieldError, as Fields does.
std::optional<Bound> bound_from(const Fields& object, double overhead);

/// Reads the field "pins" of an object in a file: pairs of a pattern and a decision. No pins where the
/// object has no such field. Throws FieldError, as Fields does.
Pins pins_from(const Fields& object);
nlohmann::json pins_json(const Pins& pins);

/// The bound as it stands in files; null where no bound is known.
nlohmann::json bound_json(const std::optional<Bound>& bound);
Result<void> write_schedule(const Schedule& schedule, const std::filesystem::path& path);

/// The export for training: one file with the exact bytes of the graph file, so that the digest of the graph
/// still holds, and the schedule.
struct Plan {
    Graph graph;
    Schedule schedule;
};
Result<Plan> read_plan(const std::filesystem::path& path);
Result<Plan> parse_plan(std::string_view bytes, const std::string& name);

/// Errors: the schedule belongs to another graph, or the graph holds nothing to replay (it was not captured
/// by the runtime).
Result<void> write_plan(std::string_view graph_text, const Schedule& schedule,
                        const std::filesystem::path& path);

/// Reads a plan, or a schedule whose graph file lies in the same folder (found by digest).
Result<Plan> read_plan_or_schedule(const std::filesystem::path& path);

}  // namespace rematlas
