#include "viz/paint/axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>

namespace rematlas {

namespace {

std::string decimal(double value, int decimals) {
    char text[48];
    std::snprintf(text, sizeof text, "%.*f", decimals, std::abs(value) < 1e-12 ? 0.0 : value);
    return text;
}

/// Returns the smallest number that is at least `raw` and is 1, 2 or 5 times a power of ten.
double round_step(double raw) {
    double power = std::pow(10, std::floor(std::log10(raw)));
    for (double factor : {1.0, 2.0, 5.0, 10.0})
        if (factor * power >= raw * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

/// Returns the smallest power of two that is at least `raw`, because powers of two are usual for memory
/// sizes: 64, 128, 256 MiB. Below 8 units, returns a decimal step, which is easier to read.
double round_step_of_bytes(double raw) {
    return raw < 8 ? round_step(raw) : std::exp2(std::ceil(std::log2(raw) - 1e-9));
}

int decimals_of(double step) {
    return step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
}

struct Unit {
    const char* name;
    double size;
};

void add_ticks(Axis& axis, double step, double unit, const char* before, const char* after) {
    int decimals = decimals_of(step);
    for (double k = std::ceil(axis.low / unit / step - 1e-9); k * step * unit <= axis.high * (1 + 1e-12);
         ++k) {
        if (axis.ticks.size() > 100) break;
        axis.ticks.push_back({k * step * unit, before + decimal(k * step, decimals) + after});
    }
}

/// Returns an axis in the unit that suits `high`. `round` rounds the distance between two ticks in that unit.
Axis axis_in(std::span<const Unit> units, double (*round)(double), double low, double high, double start,
             double end, int count) {
    if (high <= low) high = low + 1;
    Axis axis{low, high, start, end, {}, {}};
    // Uses the largest unit of which `high` has at least 1.5: 1,200 MiB instead of 1.2 GiB, but 2.4 GiB
    // instead of 2,400 MiB.
    Unit best = units[0];
    for (const Unit& unit : units)
        if (high / 1.5 >= unit.size) best = unit;
    axis.unit = best.name;
    add_ticks(axis, round((high - low) / best.size / count), best.size, "", "");
    return axis;
}

}  // namespace

Axis bytes_axis(double low, double high, double start, double end, int count) {
    static constexpr std::array kUnits = {Unit{"B", 1}, Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20},
                                          Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}};
    return axis_in(kUnits, round_step_of_bytes, low, high, start, end, count);
}

Axis time_axis(double low, double high, double start, double end, int count) {
    static constexpr std::array kUnits = {Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}};
    return axis_in(kUnits, round_step, low, high, start, end, count);
}

Axis count_axis(double low, double high, const std::string& unit, double start, double end, int count) {
    if (high <= low) high = low + 1;
    Axis axis{low, high, start, end, {}, unit};
    add_ticks(axis, std::max(1.0, round_step((high - low) / count)), 1, "", "");
    return axis;
}

Axis overhead_axis(double low, double high, double start, double end, int count) {
    if (high <= low) high = low + 0.01;
    // The scale is in percent above 1, so that the ticks are round percentages.
    Axis axis{(low - 1) * 100, (high - 1) * 100, start, end, {}, {}};
    double step = round_step((axis.high - axis.low) / count);
    add_ticks(axis, step, 1, "+", " %");
    for (Tick& tick : axis.ticks) {
        if (std::abs(tick.value) < 1e-9) tick.label = "0 %";
        if (tick.value < -1e-9) tick.label.erase(0, 1);
        tick.value = 1 + tick.value / 100;
    }
    axis.low = low;
    axis.high = high;
    return axis;
}

std::string format_overhead(double overhead) {
    double percent = (overhead - 1) * 100;
    return (percent < 0 ? "" : "+") +
           decimal(percent, std::abs(percent) < 10    ? 2
                            : std::abs(percent) < 100 ? 1
                                                      : 0) +
           " %";
}

}  // namespace rematlas
