#include "viz/layout/edge_routes.h"

#include <algorithm>
#include <cmath>

namespace rematlas {

namespace {

constexpr double kShortestTurn = 24;

Point sum(Point a, Point b) {
    return {a.x + b.x, a.y + b.y};
}
Point difference(Point a, Point b) {
    return {a.x - b.x, a.y - b.y};
}

/// Returns a curve from `a` to `b` that leaves and arrives vertically.
Spline upright(Point a, Point b) {
    const double turn = (b.y - a.y) * 0.4;
    return {a, {a.x, a.y + turn}, {b.x, b.y - turn}, b};
}

void add_line(Spline& spline, Point to) {
    const Point from = spline.back(), step = difference(to, from);
    if (std::hypot(step.x, step.y) < 0.5) return;
    spline.push_back({from.x + step.x / 3, from.y + step.y / 3});
    spline.push_back({to.x - step.x / 3, to.y - step.y / 3});
    spline.push_back(to);
}

void append(Spline& spline, const Spline& more) {
    if (spline.empty()) {
        spline = more;
    } else {
        spline.insert(spline.end(), more.begin() + 1, more.end());
    }
}

/// A part of an edge. The flags say whether the part begins or ends at the border of a box.
struct Part {
    Spline spline;
    bool from_box = false, to_box = false;
};

Point middle_of_side(const Rect& r, bool lower) {
    return {r.x + r.width / 2, lower ? r.y + r.height : r.y};
}

Part part_of(const UnitEdge& piece, const LayoutUnit& unit, const UnitFrames& frames) {
    const LayoutEdge& edge = unit.request.edges[piece.edge];
    Part part{.spline = {}, .from_box = unit.is_box(edge.from), .to_box = unit.is_box(edge.to)};
    const bool flow = edge.role == EdgeRole::down || edge.role == EdgeRole::up;
    for (Point p : frames.layout().edges[piece.edge])
        part.spline.push_back(flow ? frames.place(p, piece.side) : frames.place_between(p));
    if (part.spline.size() < 4) {
        const Rect a = frames.place(frames.layout().items[edge.from], piece.side),
                   b = frames.place(frames.layout().items[edge.to], piece.side);
        const bool down = edge.role == EdgeRole::down;
        part.spline = upright(middle_of_side(a, down), middle_of_side(b, !down));
    }
    return part;
}

/// Moves the ends of a part to the points `begin` and `end`.
void anchor(Spline& spline, Point begin, Point end) {
    if (spline.size() == 4) {
        spline = upright(begin, end);
        return;
    }
    const std::size_t last = spline.size() - 1;
    const Point at_begin = difference(begin, spline[0]), at_end = difference(end, spline[last]);
    spline[0] = begin;
    spline[1] = sum(spline[1], at_begin);
    spline[last - 1] = sum(spline[last - 1], at_end);
    spline[last] = end;
}

}  // namespace

Spline joined_route(const EdgePlan& plan, const std::vector<LayoutUnit>& units,
                    const std::vector<UnitFrames>& frames) {
    std::vector<Part> parts;
    for (const UnitEdge& piece : plan.pieces)
        parts.push_back(part_of(piece, units[piece.unit], frames[piece.unit]));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Spline& spline = parts[i].spline;
        // Parts inside boxes end at ports. A part outside a box continues from the port of the neighbouring
        // inner part.
        const Point begin = parts[i].from_box && i > 0 ? parts[i - 1].spline.back() : spline.front();
        const Point end =
            parts[i].to_box && i + 1 < parts.size() ? parts[i + 1].spline.front() : spline.back();
        if (!(begin == spline.front()) || !(end == spline.back())) anchor(spline, begin, end);
    }
    Spline route;
    for (const Part& part : parts) append(route, part.spline);
    return route;
}

Spline route_across(const Rect& from, const Rect& to, const Rect& from_box, const Rect& to_box) {
    const Point a{from.x + from.width, from.y + from.height / 2}, b{to.x, to.y + to.height / 2};
    const double left = from_box.x + from_box.width, right = to_box.x;
    Spline spline{a};
    if (right - left < kShortestTurn) {
        const double turn = std::max(kShortestTurn, std::abs(b.x - a.x) / 2);
        return {a, {a.x + turn, a.y}, {b.x - turn, b.y}, b};
    }
    add_line(spline, {left, a.y});
    const double turn = (right - left) / 2;
    spline.insert(spline.end(), {{left + turn, a.y}, {right - turn, b.y}, {right, b.y}});
    add_line(spline, b);
    return spline;
}

}  // namespace rematlas
