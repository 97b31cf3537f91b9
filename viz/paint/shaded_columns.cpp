#include "viz/paint/shaded_columns.h"

#include <algorithm>
#include <cmath>

namespace rematlas {

namespace {

constexpr int kShades = 12;
constexpr double kThin = 0.45;  // the largest value that `page_part` returns

}  // namespace

ShadedColumns::ShadedColumns(const Rect& row, const palette::Paper& paper)
    : row_(row), paper_(paper), columns_(static_cast<std::size_t>(std::max(1.0, std::ceil(row.width)))) {}

void ShadedColumns::cover(double left, double right, const Color& color) {
    left -= row_.x;
    right -= row_.x;
    for (auto i = static_cast<std::size_t>(std::max(0.0, left)); i < columns_.size(); ++i) {
        const double part =
            std::min(right, static_cast<double>(i) + 1) - std::max(left, static_cast<double>(i));
        if (part <= 0) break;
        Column& column = columns_[i];
        column.covered += part;
        column.color.red += color.red * part;
        column.color.green += color.green * part;
        column.color.blue += color.blue * part;
    }
}

void ShadedColumns::paint(Canvas& canvas) const {
    std::size_t start = 0;
    for (std::size_t i = 0; i <= columns_.size(); ++i) {
        if (i < columns_.size() && i > start && same_shade(columns_[start], columns_[i])) continue;
        if (i > start && columns_[start].covered > 0) {
            const Rect box{row_.x + static_cast<double>(start), row_.y, static_cast<double>(i - start),
                           row_.height};
            canvas.rectangle(box, color_of(columns_[start]));
        }
        start = i;
    }
}

double ShadedColumns::page_part(const palette::Paper& paper) {
    return std::min(paper.bar, kThin);
}

int ShadedColumns::shade_of(const Column& column) {
    return static_cast<int>(std::ceil(std::min(column.covered, 1.0) * kShades - 1e-6));
}

bool ShadedColumns::same_shade(const Column& a, const Column& b) {
    if (shade_of(a) != shade_of(b)) return false;
    if (shade_of(a) == 0) return true;
    const auto far = [&](double x, double y) { return std::abs(x / a.covered - y / b.covered) > 0.02; };
    return !far(a.color.red, b.color.red) && !far(a.color.green, b.color.green) &&
           !far(a.color.blue, b.color.blue);
}

Color ShadedColumns::color_of(const Column& column) const {
    const double parts = column.covered;
    const Color color{column.color.red / parts, column.color.green / parts, column.color.blue / parts, 1};
    return paper_.pale(color, page_part(paper_)).faded(static_cast<double>(shade_of(column)) / kShades);
}

}  // namespace rematlas
