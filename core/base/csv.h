// Writes tables as comma-separated lines, following RFC 4180.
#pragma once

#include <string>
#include <string_view>

namespace rematlas {

/// Returns the text as a field of a line: in quotes if it contains a comma, a quote or a line break.
inline std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + "\"";
}

}  // namespace rematlas
