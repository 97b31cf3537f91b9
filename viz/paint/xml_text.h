// Escapes text for XML and HTML, between tags and in attributes.
#pragma once

#include <string>
#include <string_view>

namespace rematlas {

/// Returns the text with markup escaped. Control characters, which XML cannot represent, become blanks.
std::string xml_text(std::string_view text);

}  // namespace rematlas
