// Reads and writes `NAME.schedule.json` and `NAME.plan`.
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

/// Reads a schedule. Checks only its form (types, known step names, ids not negative). `check` tells whether
/// the schedule fits a graph.
Result<Schedule> read_schedule(const std::filesystem::path& path);
Result<Schedule> parse_schedule(std::string_view text, std::string_view name);
std::string schedule_text(const Schedule& schedule);
/// Reads the field "bound" of an object in a file, if the object has one. If the field has no gap, the gap is
/// computed from `overhead`. Throws FieldError, as Fields does.
std::optional<Bound> bound_from(const Fields& object, double overhead);

/// Reads the field "pins" of an object in a file: pairs of a pattern and a decision. Returns no pins if the
/// object has no such field. Throws FieldError, as Fields does.
Pins pins_from(const Fields& object);
nlohmann::json pins_json(const Pins& pins);

/// Returns the bound in the form of the file; null if no bound is known.
nlohmann::json bound_json(const std::optional<Bound>& bound);
Result<void> write_schedule(const Schedule& schedule, const std::filesystem::path& path);

/// A plan, which is used for training: one file with a graph and a schedule. It contains the exact bytes of
/// the graph file, so that the digest of the graph is still valid.
struct Plan {
    Graph graph;
    Schedule schedule;
};
Result<Plan> read_plan(const std::filesystem::path& path);
Result<Plan> parse_plan(std::string_view bytes, const std::string& name);

/// Writes a plan file. Fails if the schedule belongs to another graph, or if the graph cannot be replayed
/// because it was not captured by the runtime.
Result<void> write_plan(std::string_view graph_text, const Schedule& schedule,
                        const std::filesystem::path& path);

/// Reads a plan, or a schedule whose graph file is in the same folder (found by its digest).
Result<Plan> read_plan_or_schedule(const std::filesystem::path& path);

}  // namespace rematlas
