#include "viz/paint/xml_text.h"

namespace rematlas {

std::string xml_text(std::string_view text) {
    std::string out;
    for (const unsigned char c : text) {
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
