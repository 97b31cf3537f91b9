#include "app/explorer/graph/graph_columns.h"

#include <algorithm>
#include <cmath>

namespace rematlas::explorer {
namespace {

/// Room around a column in points, so that frames at the column's border are shown whole
constexpr double around = 16;
constexpr double between = 48;           ///< points between two columns
constexpr double readable_scale = 0.25;  ///< the smallest scale at which a user can tell items apart
/// Several columns are only used if they enlarge the drawing by at least this factor.
constexpr double worth_it = 1.5;
constexpr int most_columns = 64;
/// A cut between columns moves by at most this share of a column's height, so that it goes through no item.
constexpr double near_cut = 0.2;

/// Returns the height nearest to `wanted` at which there is no item. If there are items at all heights that
/// are at most `reach` away, returns `wanted`. `spans`: the top and the bottom of each item, in ascending
/// order.
double cut_near(const std::vector<std::pair<double, double>>& spans, double wanted, double reach) {
    double best = wanted, distance = reach;
    double covered_to = -1e300;
    for (const auto& [top, bottom] : spans) {
        if (top > covered_to) {
            const double from = std::max(covered_to, wanted - reach), to = std::min(top, wanted + reach);
            if (from < to) {
                const double at = std::clamp(wanted, from, to);
                if (std::abs(at - wanted) < distance) {
                    distance = std::abs(at - wanted);
                    best = at;
                }
            }
        }
        covered_to = std::max(covered_to, bottom);
        if (top > wanted + reach) break;
    }
    return best;
}

}  // namespace

GraphColumns::GraphColumns(const Layout& layout, int count) {
    std::vector<std::pair<double, double>> spans;
    for (const Rect& item : layout.items) spans.emplace_back(item.y - 2, item.y + item.height + 2);
    std::sort(spans.begin(), spans.end());
    const double height = layout.size.height / count;
    double top = -around;
    for (int column = 0; column < count; ++column) {
        const bool last = column + 1 == count;
        const double bottom =
            last ? layout.size.height + around : cut_near(spans, height * (column + 1), height * near_cut);
        parts_.emplace_back(-around, top, layout.size.width + 2 * around, bottom - top);
        top = bottom;
    }
}

QPointF GraphColumns::shift(int column) const {
    const QRectF& of = part(column);
    return {column * (of.width() + between), parts_.front().top() - of.top()};
}

QRectF GraphColumns::bounds() const {
    QRectF all;
    for (int column = 0; column < count(); ++column) all |= part(column).translated(shift(column));
    return all;
}

int GraphColumns::column_at(double y) const {
    for (int column = 0; column + 1 < count(); ++column)
        if (y < part(column).bottom()) return column;
    return count() - 1;
}

QRectF GraphColumns::to_scene(const QRectF& of_layout) const {
    return of_layout.translated(shift(column_at(of_layout.top())));
}

QPointF GraphColumns::to_layout(const QPointF& of_scene) const {
    if (count() == 0) return of_scene;
    const double step = part(0).width() + between;
    const int column =
        std::clamp(static_cast<int>(std::floor((of_scene.x() - part(0).left()) / step)), 0, count() - 1);
    return of_scene - shift(column);
}

int columns_for(Size drawing, Size room) {
    const double wide = drawing.width + 2 * around, high = drawing.height + 2 * around;
    const auto scale_with = [&](int count) {
        return std::min(room.width / (count * wide + (count - 1) * between), room.height * count / high);
    };
    int best = 1;
    for (int count = 2; count <= most_columns; ++count)
        if (scale_with(count) > scale_with(best)) best = count;
    const bool helps = scale_with(1) < readable_scale && scale_with(best) > worth_it * scale_with(1);
    return helps ? best : 1;
}

}  // namespace rematlas::explorer
