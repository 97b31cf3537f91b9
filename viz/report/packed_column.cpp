#include "viz/report/packed_column.h"

namespace rematlas {
namespace {

constexpr std::string_view kPackedLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint64_t kPackedDigit = 31, kPackedMore = 32;

}  // namespace

void PackedColumn::add(std::int64_t number) {
    auto code = static_cast<std::uint64_t>(number) << 1;
    if (number < 0) code = ~code;
    for (; code > kPackedDigit; code >>= 5) letters_ += kPackedLetters[(code & kPackedDigit) | kPackedMore];
    letters_ += kPackedLetters[code];
}

void PackedColumn::add_change(std::int64_t number) {
    add(number - last_);
    last_ = number;
}

std::vector<std::int64_t> unpacked(std::string_view letters) {
    std::vector<std::int64_t> numbers;
    std::uint64_t code = 0;
    int shift = 0;
    for (const char letter : letters) {
        const std::size_t digit = kPackedLetters.find(letter);
        if (digit == std::string_view::npos) break;
        code |= (digit & kPackedDigit) << shift;
        shift += 5;
        if (digit & kPackedMore) continue;
        const std::uint64_t half = code >> 1;
        numbers.push_back(static_cast<std::int64_t>(code & 1 ? ~half : half));
        code = 0;
        shift = 0;
    }
    return numbers;
}

}  // namespace rematlas
