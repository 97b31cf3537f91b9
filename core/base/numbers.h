// Reads numbers from texts.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace rematlas {

/// Returns the number that the whole text is. Returns nullopt for any other text, and if the number does not
/// fit in the type.
template <class Number>
std::optional<Number> number_from(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, number);
    if (failure != std::errc() || rest != end) return std::nullopt;
    return number;
}

}  // namespace rematlas
