#include "core/base/base64.h"

#include <sodium.h>

#include <cstdint>

namespace rematlas {

std::string base64_encode(std::string_view bytes) {
    constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
    std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');
    sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                      bytes.size(), kVariant);
    text.pop_back();
    return text;
}

// libsodium's decoder is not used: it refuses a text whose last digit has unused bits that are not 0.
std::optional<std::string> base64_decode(std::string_view text) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (text.size() % 4 != 0) return std::nullopt;
    for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3 + 2);
    std::uint32_t bits = 0;
    int held = 0;  // number of bits in `bits` that are not part of a byte yet
    for (const char letter : text) {
        const std::size_t digit = kDigits.find(letter);
        if (digit == kDigits.npos) return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(digit);
        held += 6;
        if (held < 8) continue;
        held -= 8;
        bytes += static_cast<char>(bits >> held & 255);
    }
    return bytes;
}

}  // namespace rematlas
