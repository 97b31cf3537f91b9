#include "core/bounds/dual_value.h"

#include <algorithm>
#include <cmath>

namespace rematlas {
namespace {

using Wide = __int128;
constexpr int kFractionBits = 40;

Wide whole(double number) {
    return static_cast<Wide>(static_cast<std::int64_t>(number));
}

/// Returns the multiplier as a multiple of 2^-40; 0 if it is negative. Caps it at `most`, so that no sum
/// overflows. A capped multiplier still proves a valid bound.
Wide fixed_point(double multiplier, double most) {
    if (!(multiplier > 0)) return 0;
    return static_cast<Wide>(std::ldexp(std::min(multiplier, most), kFractionBits));
}

}  // namespace

DualValue dual_value(const MilpModel& programme, std::span<const double> multipliers) {
    const std::size_t columns = programme.columns.size();
    std::vector<Wide> reduced(columns);
    Wide all = 0;
    for (std::size_t j = 0; j < columns; ++j) {
        reduced[j] = whole(programme.columns[j].cost) << kFractionBits;
        all += reduced[j];
    }
    const double most = 1 + std::ldexp(static_cast<double>(all), -kFractionBits);
    Wide value = 0;
    for (std::size_t i = 0; i < programme.rows(); ++i) {
        double largest = 1;
        for (int e = programme.row_begin[i]; e < programme.row_begin[i + 1]; ++e)
            largest = std::max(largest, std::abs(programme.value[e]));
        const Wide y = fixed_point(multipliers[i], most / largest);
        if (y == 0) continue;
        value += y * whole(programme.row_lower[i]);
        for (int e = programme.row_begin[i]; e < programme.row_begin[i + 1]; ++e)
            reduced[programme.index[e]] -= y * whole(programme.value[e]);
    }
    DualValue result;
    result.reduced_cost.resize(columns);
    for (std::size_t j = 0; j < columns; ++j) {
        value += std::min<Wide>(reduced[j], 0);
        result.reduced_cost[j] = static_cast<std::int64_t>(reduced[j] / (Wide{1} << kFractionBits));
    }
    result.infeasible = value > all;
    // Only points whose objective is an integer matter, so the bound can be rounded up.
    const Wide ceiling = value > 0 ? (value + (Wide{1} << kFractionBits) - 1) >> kFractionBits : Wide{0};
    result.bound = static_cast<std::int64_t>(programme.offset) +
                   static_cast<std::int64_t>(std::min(ceiling, all >> kFractionBits));
    return result;
}

}  // namespace rematlas
