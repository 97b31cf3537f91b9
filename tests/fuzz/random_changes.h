// Random changes of the files that fuzzers begin with.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace rematlas {

/// Returns the JSON text with one to four changes of its values, so that it reaches the code behind the
/// parser. A value becomes a number at the edge of its range, a value of another kind or a copy of another
/// value; an entry is removed, repeated or moved; a member is renamed. If the text is not JSON as a whole,
/// changes one of its lines that is. Returns nothing if there is no such line, or if the text is longer than
/// 64 KiB.
std::optional<std::string> changed_json(std::string_view text, std::mt19937_64& random);

/// Returns the text with one to four changes of its bytes. A change adds a byte, flips a bit, removes or
/// repeats up to an eighth of the text, or replaces a part by bytes of one of the texts in `others`.
std::string changed_bytes(std::string text, const std::vector<std::string>& others, std::mt19937_64& random);

}  // namespace rematlas
