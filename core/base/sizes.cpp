#include "core/base/sizes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "core/base/one_line.h"

namespace rematlas {
namespace {

struct Unit {
    std::string_view name;
    double factor;
};

// A unit such as "G" can mean GB or GiB, and is read as GB, the smaller of the two. So a schedule within the
// budget is within the meant budget in both cases.
constexpr std::array kSizeUnits = {
    Unit{"", 1},         Unit{"B", 1},        Unit{"K", 1e3},      Unit{"KB", 1e3},     Unit{"M", 1e6},
    Unit{"MB", 1e6},     Unit{"G", 1e9},      Unit{"GB", 1e9},     Unit{"T", 1e12},     Unit{"TB", 1e12},
    Unit{"KiB", 1024.0}, Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}, Unit{"Ki", 1024.0},
    Unit{"Mi", 0x1p20},  Unit{"Gi", 0x1p30},  Unit{"Ti", 0x1p40}};
constexpr std::array kTimeUnits = {Unit{"", 1e9},   Unit{"s", 1e9},  Unit{"ms", 1e6},   Unit{"us", 1e3},
                                   Unit{"ns", 1.0}, Unit{"m", 6e10}, Unit{"min", 6e10}, Unit{"h", 3.6e12}};

/// Splits the text into a number and the rest, without the blanks around them. Returns nothing if the text
/// does not begin with a number.
std::optional<std::pair<double, std::string_view>> number_and_rest(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    double number = 0;
    const auto [end, failure] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (failure != std::errc() || !std::isfinite(number)) return std::nullopt;
    std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    return std::pair{number, rest};
}

/// Returns the whole number at the start of the text; nothing if a fraction follows.
std::optional<std::int64_t> whole_number(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || (end != text.data() + text.size() && *end == '.')) return std::nullopt;
    return number;
}

/// Returns "1.5 GiB" for "1,5 GiB". Returns an empty text unless exactly one comma is in the text and a digit
/// follows the comma.
std::string with_a_point(std::string_view text) {
    std::string point = on_one_line(std::string(text.substr(0, 60)));
    const std::size_t comma = point.find(',');
    if (comma == point.npos || point.find(',', comma + 1) != point.npos || comma + 1 == point.size() ||
        !std::isdigit(static_cast<unsigned char>(point[comma + 1])))
        return {};
    point[comma] = '.';
    return point;
}

bool equal(std::string_view a, std::string_view b, bool any_case) {
    const auto same = [&](unsigned char x, unsigned char y) {
        return x == y || (any_case && std::tolower(x) == std::tolower(y));
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

/// Whole numbers of bytes or nanoseconds are read exactly; all other numbers are read as double.
template <std::size_t N>
Result<std::int64_t> scaled(std::string_view text, const std::array<Unit, N>& units, const char* example,
                            bool any_case) {
    const Error wrong{quoted(text) + " is not " + example};
    const auto parts = number_and_rest(text);
    if (!parts) return wrong;
    if (const std::string point = with_a_point(text); parts->second.starts_with(',') && !point.empty())
        return Error{quoted(text) + " has a comma: write " + point};
    if (parts->first < 0) return Error{quoted(text) + " is negative"};
    for (const Unit& unit : units) {
        if (!equal(parts->second, unit.name, any_case)) continue;
        const double value = parts->first * unit.factor;
        if (value >= 0x1p62) return Error{quoted(text) + " is too large"};
        const std::optional<std::int64_t> exact = unit.factor == 1 ? whole_number(text) : std::nullopt;
        return exact ? *exact : static_cast<std::int64_t>(std::llround(value));
    }
    return wrong;
}

/// Returns "30%" for 0.3.
std::string percent_of(double share) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%g%%", share * 100);
    return text.data();
}

std::string three_digits(double value, const char* unit) {
    std::array<char, 48> text;
    const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, unit);
    return text.data();
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
    const Result<std::int64_t> value =
        scaled(text, kSizeUnits, "a size such as 2GiB, 512MiB, 1500MB or 4096", true);
    if (!value) return value.error();
    return Bytes(*value);
}

Result<Budget> parse_budget(std::string_view text) {
    const Error none{quoted(text) + " is no budget: it must be above 0"};
    if (text.find_first_not_of(' ') == text.npos)
        return Error{"no budget is given: write one such as 2GiB, 512MiB or 60%"};
    if (const auto parts = number_and_rest(text); parts && parts->first < 0)
        return Error{quoted(text) + " is negative: write a budget such as 2GiB, 512MiB or 60%"};
    if (const auto parts = number_and_rest(text); parts && parts->second.starts_with('%')) {
        const auto [percent, rest] = *parts;
        if (rest != "%" && rest != "% of activations")
            return Error{quoted(text) + " is a share of neither the peak (60%) nor 'of activations'"};
        if (percent > 1e6) return Error{quoted(text) + " is too large"};
        if (percent == 0) return none;
        Budget share;
        share.percent = percent;
        share.of = rest == "%" ? Budget::Of::peak : Budget::Of::activations;
        return share;
    }
    const Result<std::int64_t> bytes =
        scaled(text, kSizeUnits, "a budget such as 2GiB, 512MiB, 4096, 60% or '60% of activations'", true);
    if (!bytes) return bytes.error();
    if (const auto parts = number_and_rest(text);
        parts->second.empty() && parts->first > 0 && parts->first < 1)
        return Error{quoted(text) + " is less than a byte; for a share of the peak write " +
                     percent_of(parts->first)};
    if (*bytes <= 0) return none;
    if (const auto parts = number_and_rest(text);
        parts->second.empty() && parts->first != std::floor(parts->first))
        return Error{quoted(text) + " is no whole number of bytes; for a share of the peak write 60%"};
    return Budget(Bytes(*bytes));
}

Result<Bytes> bytes_of(const Budget& budget, const StepBytes& step) {
    if (budget.of == Budget::Of::nothing) return budget.bytes;
    const Bytes beside = budget.of == Budget::Of::activations ? step.resident : Bytes();
    const Bytes whole = step.peak - beside;
    const long double share = static_cast<long double>(whole.value) * budget.percent / 100;
    const auto refused = [&](const char* why) {
        std::array<char, 32> percent;
        std::snprintf(percent.data(), percent.size(), "%g", budget.percent);
        return Error{std::string(percent.data()) + "% of " + std::to_string(whole.value) + " bytes " + why};
    };
    if (share >= 0x1p62L) return refused("is too large");
    const Bytes bytes = beside + Bytes(static_cast<std::int64_t>(share));
    if (bytes.value <= 0) return refused("is no budget: it must be above 0");
    return bytes;
}

std::string share_of(Bytes bytes, Budget::Of of, const StepBytes& step) {
    const bool of_activations = of == Budget::Of::activations;
    const Bytes beside = of_activations ? step.resident : Bytes();
    const std::int64_t whole = (step.peak - beside).value;
    if (of == Budget::Of::nothing || whole <= 0) return {};
    const double tenths = static_cast<double>((bytes - beside).value) / static_cast<double>(whole) * 1000;
    const double first = std::max(1.0, std::floor(tenths));
    Budget budget;
    budget.of = of;
    // Rounding may make the first candidate a byte too small, so up to three are tried.
    for (double candidate = first; candidate < first + 3; ++candidate) {
        budget.percent = candidate / 10;
        const Result<Bytes> meant = bytes_of(budget, step);
        if (!meant || *meant < bytes) continue;
        std::array<char, 40> text;
        std::snprintf(text.data(), text.size(), "%.10g%%", budget.percent);
        return text.data() + std::string(of_activations ? " of activations" : "");
    }
    return {};
}

Result<Nanoseconds> parse_duration(std::string_view text) {
    const Result<std::int64_t> value = scaled(text, kTimeUnits, "a duration such as 60s, 500ms or 2m", false);
    if (!value) return value.error();
    return Nanoseconds(*value);
}

std::string format_bytes(Bytes bytes) {
    const double value = static_cast<double>(bytes.value);
    if (std::abs(value) >= 0x1p40) return three_digits(value / 0x1p40, "TiB");
    if (std::abs(value) >= 0x1p30) return three_digits(value / 0x1p30, "GiB");
    if (std::abs(value) >= 0x1p20) return three_digits(value / 0x1p20, "MiB");
    if (std::abs(value) >= 0x1p10) return three_digits(value / 0x1p10, "KiB");
    return std::to_string(bytes.value) + " B";
}

std::string format_duration(Nanoseconds time) {
    const double value = static_cast<double>(time.value);
    if (std::abs(value) >= 1e9) return three_digits(value / 1e9, "s");
    if (std::abs(value) >= 1e6) return three_digits(value / 1e6, "ms");
    if (std::abs(value) >= 1e3) return three_digits(value / 1e3, "us");
    return std::to_string(time.value) + " ns";
}

}  // namespace rematlas
