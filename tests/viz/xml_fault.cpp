#include "tests/viz/xml_fault.h"

#include <vector>

namespace rematlas {
namespace {

/// Returns the text without its CDATA sections, which may contain any text.
std::string without_character_data(std::string text) {
    for (std::size_t at; (at = text.find("<![CDATA[")) != std::string::npos;) {
        const std::size_t end = text.find("]]>", at);
        text.erase(at, end == std::string::npos ? end : end + 3 - at);
    }
    return text;
}

}  // namespace

std::string xml_fault(const std::string& whole) {
    const std::string text = without_character_data(whole);
    std::vector<std::string> open;
    std::size_t at = text.starts_with("<!DOCTYPE") ? text.find('>') : 0;
    while ((at = text.find('<', at)) != std::string::npos) {
        std::size_t end = at + 1;
        for (bool quoted = false; end < text.size() && (quoted || text[end] != '>'); ++end) {
            if (text[end] == '"') quoted = !quoted;
            if (text[end] == '<') return "a < inside a tag at " + std::to_string(end);
        }
        if (end >= text.size()) return "a tag without end at " + std::to_string(at);
        std::string tag = text.substr(at + 1, end - at - 1);
        std::string name = tag.substr(0, tag.find_first_of(" /", 1));
        if (tag.front() == '/') {
            if (open.empty() || "/" + open.back() != tag) return "</" + tag + "> closes nothing";
            open.pop_back();
        } else if (tag.back() != '/') {
            open.push_back(name);
        }
        at = end;
    }
    for (at = text.find('&'); at != std::string::npos; at = text.find('&', at + 1)) {
        std::string reference = text.substr(at, text.find(';', at) - at);
        if (reference != "&amp" && reference != "&lt" && reference != "&gt" && reference != "&quot")
            return "reference " + reference;
    }
    return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

}  // namespace rematlas
