#include "app/explorer/files/journal_line.h"

#include <nlohmann/json.hpp>

#include "app/explorer/models/plan_list.h"
#include "core/base/files.h"
#include "core/schedule/schedule_file.h"

namespace rematlas::explorer {
namespace {

using nlohmann::json;
using Kind = JournalLine::Kind;

Kind kind_of(const json& note) {
    return note.contains("shown")      ? Kind::shown
           : note.contains("removed")  ? Kind::removed
           : note.contains("schedule") ? Kind::added
                                       : Kind::named;
}

/// Throws json::exception if a field is missing or has another type.
std::optional<JournalLine> line_of(const json& note) {
    if (note.contains("format")) return JournalLine{};
    JournalLine line;
    line.kind = kind_of(note);
    line.graph = note.at("graph").get<std::string>();
    line.plan = note.at(line.kind == Kind::shown ? "shown" : "plan").get<std::string>();
    if (line.kind == Kind::shown || line.kind == Kind::removed) return line;
    line.name = note.at("name").get<std::string>();
    line.starred = note.at("starred").get<bool>();
    if (line.kind == Kind::named) return line;
    line.origin = note.at("origin").get<std::string>();
    Result<Schedule> schedule = parse_schedule(note.at("schedule").dump(), "session");
    if (!schedule || key_of(*schedule).toStdString() != line.plan) return std::nullopt;
    line.schedule = std::make_shared<const Schedule>(schedule.take());
    return line;
}

}  // namespace

std::optional<JournalLine> parse_journal_line(std::string_view line) {
    const Result<json> note = parse_json(line, "session");
    if (!note || !note->is_object()) return std::nullopt;
    try {
        return line_of(*note);
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

}  // namespace rematlas::explorer
