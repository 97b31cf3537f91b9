#include "core/planning/curve_budgets.h"

#include <algorithm>
#include <tuple>

namespace rematlas {
namespace {

/// Returns the budgets at which the known overhead or the known bound changes, ascending.
std::vector<Bytes> ends_of_pieces(std::span<const CurveSample> samples) {
    std::vector<Bytes> ends;
    for (const CurveSample& sample : samples) ends.push_back(sample.budget);
    const auto [first, last] = std::minmax_element(ends.begin(), ends.end());
    const Bytes smallest = *first, largest = *last;
    for (const CurveSample& sample : samples) {
        if (sample.peak && *sample.peak > smallest && *sample.peak < largest) ends.push_back(*sample.peak);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
}

/// Returns, for each of `ends`, the least overhead of the schedules whose peak is at most this end. If there
/// is no such schedule, returns the greatest overhead of all schedules for this end.
std::vector<double> least_found(std::span<const CurveSample> samples, const std::vector<Bytes>& ends) {
    std::vector<const CurveSample*> found;
    double greatest = 0;
    for (const CurveSample& sample : samples) {
        if (!sample.peak) continue;
        greatest = std::max(greatest, sample.overhead);
        found.push_back(&sample);
    }
    std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return *a->peak < *b->peak; });
    std::vector<double> least;
    double so_far = greatest;
    auto next = found.begin();
    for (const Bytes end : ends) {
        for (; next != found.end() && *(*next)->peak <= end; ++next)
            so_far = std::min(so_far, (*next)->overhead);
        least.push_back(so_far);
    }
    return least;
}

/// Returns, for each of `ends`, the highest bound that is proven at this budget or at a larger one.
std::vector<double> best_proven(std::span<const CurveSample> samples, const std::vector<Bytes>& ends) {
    std::vector<double> best(ends.size(), 0);
    for (const CurveSample& sample : samples) {
        const auto above = std::upper_bound(ends.begin(), ends.end(), sample.budget);
        if (above == ends.begin()) continue;
        double& here = best[static_cast<std::size_t>(above - ends.begin()) - 1];
        here = std::max(here, sample.bound);
    }
    for (std::size_t i = best.size(); i-- > 1;) best[i - 1] = std::max(best[i - 1], best[i]);
    return best;
}

}  // namespace

double CurvePiece::area() const {
    return static_cast<double>((to - from).value) * std::max(above - below, 0.0);
}

std::vector<CurvePiece> curve_pieces(std::span<const CurveSample> samples) {
    std::vector<CurvePiece> pieces;
    if (samples.empty()) return pieces;
    const std::vector<Bytes> ends = ends_of_pieces(samples);
    const std::vector<double> above = least_found(samples, ends), below = best_proven(samples, ends);
    for (std::size_t i = 0; i + 1 < ends.size(); ++i)
        pieces.push_back({ends[i], ends[i + 1], above[i], below[i + 1]});
    return pieces;
}

std::optional<Bytes> next_budget(std::span<const CurveSample> samples) {
    const std::vector<CurvePiece> pieces = curve_pieces(samples);
    const CurvePiece* best = nullptr;
    const auto worth = [](const CurvePiece& piece) {
        return std::tuple(piece.area(), piece.to - piece.from);
    };
    for (const CurvePiece& piece : pieces) {
        if (piece.to - piece.from < Bytes(2)) continue;
        if (!best || worth(piece) > worth(*best)) best = &piece;
    }
    if (!best) return std::nullopt;
    return best->from + Bytes((best->to - best->from).value / 2);
}

std::vector<Bytes> even_budgets(Bytes smallest, Bytes largest, int count) {
    std::vector<Bytes> budgets;
    if (count <= 1 || smallest >= largest) return {largest};
    const std::int64_t range = largest.value - smallest.value;
    for (int i = 0; i + 1 < count; ++i) budgets.push_back(smallest + Bytes(range / (count - 1) * i));
    budgets.push_back(largest);
    budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
    return budgets;
}

}  // namespace rematlas
