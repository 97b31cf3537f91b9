// Base64: bytes as text (RFC 4648, with padding).
//
//     const std::string text = base64_encode("foo");                   // "Zm9v"
//     const std::optional<std::string> bytes_of = base64_decode(text);  // "foo"
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rematlas {

/// Returns the text of these bytes.
std::string base64_encode(std::string_view bytes);
/// Returns the bytes of the text, or nullopt if the text is not base64.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace rematlas
