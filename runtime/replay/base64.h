// Base64: bytes as text (RFC 4648, with padding).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rematlas {

std::string base64_encode(std::string_view bytes);
std::optional<std::string> base64_decode(std::string_view text);  ///< nothing if the text is not base64

}  // namespace rematlas
