// Whether a text is well-formed XML.
#pragma once

#include <string>

namespace rematlas {

/// Empty when `text` is well-formed as far as tags, attributes and references go, else what is wrong. A document
/// type in front is passed over.
std::string xml_fault(const std::string& text);

}  // namespace rematlas
