#include "viz/paint/xml_text.h"

namespace rematlas {
namespace {

/// Says whether the text begins with a character that changes the direction of the text after it, or that
/// ends a line (U+2028 to U+202E, U+2066 to U+2069). In a name, such a character would change the text beside
/// the name.
bool changes_what_follows(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    };
    if (byte(0) != 0xe2) return false;
    const bool embedding = byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae;
    const bool isolate = byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;
    return embedding || isolate;
}

}  // namespace

std::string xml_text(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (changes_what_follows(text.substr(i))) {
            out += "\ufffd";
            i += 2;
            continue;
        }
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c < 0x20 && c != '\n' && c != '\t' ? ' ' : static_cast<char>(c);
        }
    }
    return out;
}

}  // namespace rematlas
