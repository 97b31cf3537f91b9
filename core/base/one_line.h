// Fits text from files and from users into messages, which have one line.
#pragma once

#include <string>
#include <string_view>

namespace rematlas {

/// Replaces each line break and control character by a blank, so that a message that quotes a file stays on
/// one line.
inline std::string on_one_line(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    return text;
}

/// Returns the first 60 bytes of the text on one line, in quotation marks.
inline std::string quoted(std::string_view text) {
    return "'" + on_one_line(std::string(text.substr(0, 60))) + "'";
}

}  // namespace rematlas
