#include "tests/fuzz/random_changes.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace rematlas {
namespace {

using json = nlohmann::json;

constexpr std::size_t kLongest = 64 << 10;
constexpr int kDeepest = 100;  // documents nested more deeply are not changed: `dump` is recursive

/// Draws from ranges and lists.
class Draws {
  public:
    explicit Draws(std::mt19937_64& random) : random_(random) {}

    std::size_t below(std::size_t end) { return end ? static_cast<std::size_t>(random_() % end) : 0; }
    template <class List>
    auto& one_of(List& list) {
        return list[below(std::size(list))];
    }

  private:
    std::mt19937_64& random_;
};

/// Returns all values of the document, the document itself first. Is not recursive, since documents may be
/// nested deeply.
std::vector<json*> values_of(json& document) {
    std::vector<json*> values{&document};
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i]->is_structured())
            for (json& entry : *values[i]) values.push_back(&entry);
    return values;
}

json number_at_an_edge(Draws& draws) {
    static const std::vector<json> edges{0,
                                         1,
                                         -1,
                                         2,
                                         255,
                                         65536,
                                         std::numeric_limits<std::int32_t>::max(),
                                         std::numeric_limits<std::int32_t>::min(),
                                         std::int64_t{1} << 32,
                                         std::int64_t{1} << 53,
                                         std::int64_t{1} << 61,
                                         std::int64_t{1} << 62,
                                         std::numeric_limits<std::int64_t>::max(),
                                         std::numeric_limits<std::int64_t>::min(),
                                         std::numeric_limits<std::uint64_t>::max(),
                                         0.5,
                                         -0.0,
                                         1e-320,
                                         9.3e18,
                                         1e308};
    return draws.one_of(edges);
}

json another_kind(Draws& draws) {
    static const std::vector<json> kinds{nullptr, true, false, "", "x", json::array(), json::object()};
    return draws.below(2) ? draws.one_of(kinds) : number_at_an_edge(draws);
}

/// Returns the value near to a number: one more, one less, its double or its opposite.
json near(const json& number, Draws& draws) {
    if (number.is_number_float()) {
        const double value = number.get<double>();
        const double nears[] = {value / 2, -value, value + 1, value * 1e9};
        return draws.one_of(nears);
    }
    const auto value = number.get<std::uint64_t>();  // unsigned, so that it cannot overflow
    const std::uint64_t nears[] = {value + 1, value - 1, 2 * value, 0 - value};
    return static_cast<std::int64_t>(draws.one_of(nears));
}

/// Removes, repeats or moves an entry of the array, or adds a copy of another value.
void change_array(json& array, const json& other, Draws& draws) {
    auto& entries = array.get_ref<json::array_t&>();
    const auto any = [&] {
        return entries.begin() + static_cast<std::ptrdiff_t>(draws.below(entries.size()));
    };
    if (entries.empty() || draws.below(4) == 0) {
        entries.insert(any(), other);
        return;
    }
    switch (draws.below(3)) {
        case 0:
            entries.erase(any());
            break;
        case 1: {
            json repeated = *any();
            entries.insert(any(), std::move(repeated));
            break;
        }
        default:
            std::swap(*any(), *any());
    }
}

/// Removes or renames a member of the object, or adds a copy of another value.
void change_object(json& object, const json& other, const std::vector<std::string>& names, Draws& draws) {
    if (object.empty() || draws.below(4) == 0) {
        object[draws.one_of(names)] = other;
        return;
    }
    auto member = object.begin();
    std::advance(member, static_cast<std::ptrdiff_t>(draws.below(object.size())));
    if (draws.below(2)) {
        json value = member.value();
        object.erase(member);
        object[draws.one_of(names)] = std::move(value);
    } else {
        object.erase(member);
    }
}

std::vector<std::string> names_in(const std::vector<json*>& values) {
    std::vector<std::string> names{"x"};
    for (const json* value : values)
        if (value->is_object())
            for (const auto& [name, entry] : value->items()) names.push_back(name);
    return names;
}

void change(json& document, Draws& draws) {
    const std::vector<json*> values = values_of(document);
    json& value = *draws.one_of(values);
    const json other = draws.one_of(values)->size() > 64 ? json() : json(*draws.one_of(values));
    if (draws.below(3) == 0) {
        value = draws.below(2) ? another_kind(draws) : other;
    } else if (value.is_array()) {
        change_array(value, other, draws);
    } else if (value.is_object()) {
        change_object(value, other, names_in(values), draws);
    } else if (value.is_number()) {
        value = draws.below(2) ? near(value, draws) : number_at_an_edge(draws);
    } else {
        value = other;
    }
}

std::optional<std::string> changed_document(std::string_view text, Draws& draws) {
    bool is_deep = false;
    const auto note_depth = [&](int depth, json::parse_event_t, json&) {
        is_deep |= depth > kDeepest;
        return !is_deep;
    };
    json document = json::parse(text, note_depth, false);
    if (document.is_discarded() || is_deep) return std::nullopt;
    for (std::size_t changes = 1 + draws.below(4); changes > 0; --changes) change(document, draws);
    return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Returns the lines of the text that begin as objects or arrays do.
std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        if (line.starts_with('{') || line.starts_with('[')) lines.push_back(line);
        begin = end + 1;
    }
    return lines;
}

}  // namespace

std::optional<std::string> changed_json(std::string_view text, std::mt19937_64& random) {
    Draws draws(random);
    if (text.size() > kLongest) return std::nullopt;
    if (auto changed = changed_document(text, draws)) return changed;
    const std::vector<std::string_view> lines = lines_of(text);
    if (lines.empty()) return std::nullopt;
    const std::string_view line = draws.one_of(lines);
    const auto changed = changed_document(line, draws);
    if (!changed) return std::nullopt;
    const auto begin = static_cast<std::size_t>(line.data() - text.data());
    return std::string(text.substr(0, begin)) + *changed + std::string(text.substr(begin + line.size()));
}

std::string changed_bytes(std::string text, const std::vector<std::string>& others, std::mt19937_64& random) {
    const auto below = [&](std::size_t end) { return end ? static_cast<std::size_t>(random() % end) : 0; };
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
        const std::size_t at = below(text.size() + 1), length = 1 + below(1 + text.size() / 8);
        switch (below(5)) {
            case 0:
                text.insert(at, 1, static_cast<char>(random()));
                break;
            case 1:
                text.erase(at, length);
                break;
            case 2:
                text.insert(at, text.substr(below(text.size()), length));
                break;
            case 3: {
                const std::string& other = others[below(others.size())];
                text.replace(at, length, other.substr(below(other.size()), length));
                break;
            }
            default:
                if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        }
    }
    return text;
}

}  // namespace rematlas
