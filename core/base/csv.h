// Tables as comma-separated lines, as RFC 4180 has them.
#pragma once

#include <string>
#include <string_view>

namespace rematlas {

/// A field as it stands in a line: in quotes where it holds a comma, a quote or the end of a line.
std::string csv_field(std::string_view text);

}  // namespace rematlas
