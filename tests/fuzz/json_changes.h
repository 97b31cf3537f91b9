// Random changes of JSON texts that leave them JSON, so that they reach the code behind the parser.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace rematlas {

/// Returns the text with one to four changes of its values: a value becomes a number at the edge of its range,
/// a value of another kind or a copy of another value; an entry is removed, repeated or moved; a member is
/// renamed. If the text is not JSON as a whole, changes one of its lines that is. Returns nothing if there is
/// no such line, or if the text is longer than 64 KiB.
std::optional<std::string> changed_json(std::string_view text, std::mt19937_64& random);

}  // namespace rematlas
