#include "core/planning/curve_budgets.h"

#include <algorithm>
#include <tuple>

namespace rematlas {
namespace {

/// Places where what is known changes.
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

double least_found(std::span<const CurveSample> samples, Bytes budget) {
    double least = 0, greatest = 0;
    bool any = false;
    for (const CurveSample& sample : samples) {
        if (!sample.peak) continue;
        greatest = std::max(greatest, sample.overhead);
        if (*sample.peak > budget) continue;
        least = any ? std::min(least, sample.overhead) : sample.overhead;
        any = true;
    }
    return any ? least : greatest;
}

double best_proven(std::span<const CurveSample> samples, Bytes budget) {
    double best = 0;
    for (const CurveSample& sample : samples) {
        if (sample.budget >= budget) best = std::max(best, sample.bound);
    }
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
    for (std::size_t i = 0; i + 1 < ends.size(); ++i)
        pieces.push_back(
            {ends[i], ends[i + 1], least_found(samples, ends[i]), best_proven(samples, ends[i + 1])});
    return pieces;
}

double curve_area(std::span<const CurveSample> samples) {
    double area = 0;
    for (const CurvePiece& piece : curve_pieces(samples)) area += piece.area();
    return area;
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
