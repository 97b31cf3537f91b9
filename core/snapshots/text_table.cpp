#include "core/snapshots/text_table.h"

#include <algorithm>
#include <functional>

#include "core/snapshots/byte_stream.h"

namespace rematlas {
namespace {

constexpr std::size_t kMostTexts = std::size_t{1} << 28;

bool is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x7f;
}

/// Returns the number of bytes of the UTF-8 sequence at the start of `text`; 0 if there is no valid sequence.
/// Overlong forms and surrogates are not valid.
std::size_t sequence_length(std::string_view text) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::size_t length = at(0) < 0x80 ? 1 : at(0) < 0xc2 ? 0 : at(0) < 0xe0 ? 2 : at(0) < 0xf0 ? 3 : 4;
    if (length == 0 || at(0) > 0xf4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((at(i) & 0xc0) != 0x80) return 0;
    if (length == 3 && ((at(0) == 0xe0 && at(1) < 0xa0) || (at(0) == 0xed && at(1) > 0x9f))) return 0;
    if (length == 4 && ((at(0) == 0xf0 && at(1) < 0x90) || (at(0) == 0xf4 && at(1) > 0x8f))) return 0;
    return length;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        const auto first = static_cast<unsigned char>(text[0]);
        if (length == 0 || (length == 1 && !is_plain(first)))
            out += '?';
        else
            out += text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(1, length));
    }
    return out;
}

TextId TextTable::add(std::string_view text) {
    std::string cleaned;
    if (!std::all_of(text.begin(), text.end(),
                     [](char c) { return is_plain(static_cast<unsigned char>(c)); })) {
        cleaned = printable(text);
        text = cleaned;
    }
    const std::size_t next = ends_.size();
    if (next >= kMostTexts) throw SnapshotFault{"the file holds more distinct texts than fit in this reader"};
    const std::uint64_t hash = mixed(std::hash<std::string_view>()(text));
    const std::uint32_t found = index_.find_or_add(
        hash, static_cast<std::uint32_t>(next), [&](auto number) { return (*this)[TextId(number)] == text; });
    if (found == next) {
        all_ += text;
        ends_.push_back(all_.size());
    }
    return TextId(found);
}

std::string_view TextTable::operator[](TextId id) const {
    if (!id.valid() || id.index() >= ends_.size()) return {};
    const std::uint64_t begin = id.index() == 0 ? 0 : ends_[id.index() - 1];
    return std::string_view(all_).substr(begin, ends_[id.index()] - begin);
}

}  // namespace rematlas
