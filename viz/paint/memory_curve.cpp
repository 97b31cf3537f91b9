#include "viz/paint/memory_curve.h"

#include <algorithm>
#include <cmath>

namespace rematlas {

std::vector<Point> staircase(const std::vector<MemoryPoint>& memory, double length, const Axis& x,
                             const Axis& y) {
    std::vector<Point> points;
    double column = -1, lowest = 0, highest = 0, last = -1;
    auto add = [&](Point p) {
        if (points.empty() || !(points.back() == p)) points.push_back(p);
    };
    auto flush = [&] {
        if (column < 0) return;
        for (double value : {highest, lowest, last}) add({column, y.at(value)});
    };
    auto visit = [&](double at, double value) {
        double where = std::round(x.at(std::clamp(at, x.low, x.high)) * 2) / 2;
        if (where != column) {
            flush();
            if (column >= 0) add({where, y.at(last)});  // the memory was `last` up to here
            column = where;
            lowest = highest = value;
        }
        lowest = std::min(lowest, value);
        highest = std::max(highest, value);
        last = value;
    };
    auto point = std::upper_bound(memory.begin(), memory.end(), x.low,
                                  [](double at, const MemoryPoint& p) { return at < p.x; });
    if (point != memory.begin()) --point;
    for (; point != memory.end() && point->x <= x.high; ++point)
        visit(point->x, static_cast<double>(point->bytes));
    if (last >= 0 && length > x.low) visit(std::min(length, x.high), last);
    flush();
    return points;
}

Path line_through(const std::vector<Point>& points) {
    Path path;
    for (std::size_t i = 0; i < points.size(); ++i)
        i == 0 ? path.move_to(points[i]) : path.line_to(points[i]);
    return path;
}

Path area_under(const std::vector<Point>& points, double bottom) {
    Path area = line_through(points);
    if (points.empty()) return area;
    return area.line_to({points.back().x, bottom}).line_to({points.front().x, bottom}).close();
}

void paint_curve(Canvas& canvas, const std::string& tooltip, const std::vector<Point>& points, double bottom,
                 const std::optional<Color>& fill, const Pen& pen) {
    canvas.begin(tooltip);
    if (fill) canvas.path(area_under(points, bottom), fill, {});
    canvas.path(line_through(points), {}, pen);
    canvas.end();
}

}  // namespace rematlas
