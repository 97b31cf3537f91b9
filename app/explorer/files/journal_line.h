// One line of a session file (plan_journal.h describes the lines). The code that reads plans and the
// code that removes lines use the same parser, so that both treat the same lines as damaged.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/schedule/schedule.h"

namespace rematlas::explorer {

struct JournalLine {
    enum class Kind { format, added, named, removed, shown };
    Kind kind = Kind::format;
    std::string graph;                         ///< beginning of the graph's digest; empty in a line `format`
    std::string plan;                          ///< the key of the plan (`key_of`, plan_list.h)
    std::string name;                          ///< in lines `added` and `named`
    bool starred = false;                      ///< in lines `added` and `named`
    std::string origin;                        ///< in a line `added`
    std::shared_ptr<const Schedule> schedule;  ///< in a line `added`
};

/// Returns nullopt if the line is damaged: it is not JSON, a field is missing or has another type, or `plan`
/// is not the key of the schedule.
std::optional<JournalLine> parse_journal_line(std::string_view line);

}  // namespace rematlas::explorer
