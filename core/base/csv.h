// Writes tables as comma-separated lines, following RFC 4180.
#pragma once

#include <string>
#include <string_view>

namespace rematlas {

/// Returns the text as a field of a line: in quotes if it contains a comma, a quote or a line break.
std::string csv_field(std::string_view text);

}  // namespace rematlas
