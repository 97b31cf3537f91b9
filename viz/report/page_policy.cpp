#include "viz/report/page_policy.h"

#include <cstdint>

#include "core/base/files.h"

namespace rematlas {
namespace {

constexpr std::string_view kBase64Letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the base64 text of 32 bytes that are given as 64 hexadecimal digits.
std::string base64_of_hex(const std::string& hex) {
    std::string out;
    for (std::size_t i = 0; i < hex.size(); i += 6) {
        const std::string part = hex.substr(i, 6);  // three bytes, or the last two
        const std::uint32_t bits = static_cast<std::uint32_t>(std::stoul(part, nullptr, 16))
                                   << (part.size() < 6 ? 8 : 0);
        for (const int shift : {18, 12, 6, 0}) out += kBase64Letters[bits >> shift & 63];
        if (part.size() < 6) out.back() = '=';
    }
    return out;
}

std::string source_of(std::string_view text) {
    return "'sha256-" + base64_of_hex(sha256(text)) + "'";
}

}  // namespace

std::string page_policy(std::string_view style, std::string_view script, PageUse use) {
    return "default-src 'none'; style-src " + source_of(style) + "; script-src " + source_of(script) +
           (use == PageUse::served ? "; connect-src 'self'" : "") + "; base-uri 'none'; form-action 'none'";
}

}  // namespace rematlas
