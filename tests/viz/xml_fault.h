// Says whether a text is well-formed XML.
#pragma once

#include <string>

namespace rematlas {

/// Returns an empty text if tags, attributes and references in `text` are well-formed; otherwise says what is
/// wrong. A document type at the beginning is skipped.
std::string xml_fault(const std::string& text);

}  // namespace rematlas
