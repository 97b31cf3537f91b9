// Text between the tags and in the attributes of XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace rematlas {

/// Markup is escaped. Control characters, which XML has no way to write, become blanks.
std::string xml_text(std::string_view text);

}  // namespace rematlas
