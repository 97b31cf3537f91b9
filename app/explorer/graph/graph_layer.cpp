#include "app/explorer/graph/graph_layer.h"

#include <QPainter>
#include <QStyleOptionGraphicsItem>
#include <algorithm>
#include <cmath>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {
namespace {

constexpr double cell = 400;

QRectF qt(const Rect& r) {
    return {r.x, r.y, r.width, r.height};
}

qint64 cell_key(int x, int y) {
    return (static_cast<qint64>(x) << 32) ^ static_cast<quint32>(y);
}

template <class Visit>
void visit_cells(const QRectF& rect, Visit visit) {
    const int x1 = static_cast<int>(std::floor(rect.right() / cell)),
              y1 = static_cast<int>(std::floor(rect.bottom() / cell));
    for (int y = static_cast<int>(std::floor(rect.top() / cell)); y <= y1; ++y) {
        for (int x = static_cast<int>(std::floor(rect.left() / cell)); x <= x1; ++x) visit(cell_key(x, y));
    }
}

/// Returns the bounds of a curve's control points. They contain the curve.
QRectF bounds_of(const std::vector<Point>& spline) {
    if (spline.empty()) return {};
    double left = spline[0].x, right = left, top = spline[0].y, bottom = top;
    for (const Point& p : spline) {
        left = std::min(left, p.x);
        right = std::max(right, p.x);
        top = std::min(top, p.y);
        bottom = std::max(bottom, p.y);
    }
    return QRectF(QPointF(left, top), QPointF(right, bottom)).adjusted(-6, -6, 6, 6);
}

/// Returns the distance from a point to a curve of cubic pieces. Each piece is approximated by straight
/// lines.
double distance_to(const std::vector<Point>& spline, const QPointF& point) {
    constexpr int parts = 12;
    double least = 1e300;
    for (std::size_t k = 0; k + 3 < spline.size(); k += 3) {
        QPointF from(spline[k].x, spline[k].y);
        for (int part = 1; part <= parts; ++part) {
            const double t = static_cast<double>(part) / parts, u = 1 - t;
            const double weights[] = {u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t};
            QPointF to;
            for (std::size_t i = 0; i < 4; ++i) to += weights[i] * QPointF(spline[k + i].x, spline[k + i].y);
            const QPointF along = to - from, out = point - from;
            const double length = QPointF::dotProduct(along, along);
            const double share =
                length > 0 ? std::clamp(QPointF::dotProduct(out, along) / length, 0.0, 1.0) : 0;
            const QPointF apart = out - share * along;
            least = std::min(least, std::hypot(apart.x(), apart.y()));
            from = to;
        }
    }
    return least;
}

}  // namespace

void GraphLayer::set_ladder(LadderPtr ladder) {
    prepareGeometryChange();
    const bool same_layout = ladder && ladder_ && ladder->layout == ladder_->layout;
    ladder_ = std::move(ladder);
    if (!same_layout) build_index();
    update();
}

void GraphLayer::set_columns(int count) {
    if (count == wanted_columns_) return;
    wanted_columns_ = count;
    if (!ladder_) return;
    prepareGeometryChange();
    columns_ = GraphColumns(ladder_->layout, count);
    update();
}

void GraphLayer::build_index() {
    edge_bounds_.clear();
    cells_.clear();
    marked_.clear();
    marked_cluster_ = marked_edge_ = running_ = -1;
    columns_ = {};
    if (!ladder_) return;
    const Layout& layout = ladder_->layout;
    columns_ = GraphColumns(layout, wanted_columns_);
    for (const auto& spline : layout.edges) edge_bounds_.push_back(bounds_of(spline));
    edge_order_ = edges_by_weight(ladder_->view);
    for (std::size_t i = 0; i < layout.items.size(); ++i) {
        visit_cells(qt(layout.items[i]), [&](qint64 key) { cells_[key].push_back(static_cast<int>(i)); });
    }
}

std::vector<int> GraphLayer::edges_at(const QRectF& place) const {
    std::vector<int> found;
    for (int edge : edge_order_) {
        if (edge_bounds_[edge].intersects(place)) found.push_back(edge);
    }
    return found;
}

std::vector<int> GraphLayer::items_at(const QRectF& place) const {
    std::vector<int> found;
    visit_cells(place, [&](qint64 key) {
        const auto at = cells_.find(key);
        if (at == cells_.end()) return;
        for (int item : at->second) {
            if (item_place(item).intersects(place)) found.push_back(item);
        }
    });
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

std::vector<int> GraphLayer::items_in(const QRectF& rect) const {
    std::vector<int> found;
    for (int column = 0; column < columns_.count(); ++column) {
        const QRectF place = rect.translated(-columns_.shift(column)) & columns_.part(column);
        if (place.isEmpty()) continue;
        for (int item : items_at(place))
            if (columns_.column_at(item_place(item).top()) == column) found.push_back(item);
    }
    std::sort(found.begin(), found.end());
    return found;
}

QRectF GraphLayer::item_place(int item) const {
    return qt(ladder_->layout.items[item]);
}
QRectF GraphLayer::cluster_place(int cluster) const {
    return qt(ladder_->layout.clusters[cluster]);
}
QRectF GraphLayer::item_rect(int item) const {
    return columns_.to_scene(item_place(item));
}
/// Returns the place of a frame. If the frame spans several columns, returns its part in the first of these
/// columns.
QRectF GraphLayer::cluster_rect(int cluster) const {
    const QRectF place = cluster_place(cluster);
    const int column = columns_.column_at(place.top());
    return (place & columns_.part(column)).translated(columns_.shift(column));
}

QRectF GraphLayer::marked_rect() const {
    QRectF rect;
    for (int item : marked_) rect |= item_rect(item);
    if (marked_cluster_ >= 0) rect |= cluster_rect(marked_cluster_);
    return rect;
}

/// Returns an arrow at most `reach` away from the point; -1 if there is none. If there are several, returns
/// the arrow with the least weight, which is painted on top.
int GraphLayer::edge_at(const QPointF& point, double reach) const {
    const std::vector<int> edges =
        edges_at(QRectF(point, QSizeF(0.1, 0.1)).adjusted(-reach, -reach, reach, reach));
    for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
        const std::vector<Point>& spline = ladder_->layout.edges[static_cast<std::size_t>(*edge)];
        if (distance_to(spline, point) <= reach) return *edge;
    }
    return -1;
}

GraphHit GraphLayer::hit(const QPointF& of_scene, double reach) const {
    GraphHit hit;
    if (!ladder_) return hit;
    const QPointF point = columns_.to_layout(of_scene);
    if (!columns_.part(columns_.column_at(point.y())).contains(point)) return hit;
    for (int item : items_at(QRectF(point, QSizeF(0.1, 0.1)))) hit.item = item;
    if (hit.item >= 0) return hit;
    // Parents come first in the list, so the last frame that contains the point is the innermost frame.
    for (std::size_t i = 0; i < ladder_->layout.clusters.size(); ++i) {
        const QRectF place = cluster_place(static_cast<int>(i));
        if (!place.contains(point)) continue;
        hit.cluster = static_cast<int>(i);
        hit.title = point.y() < place.top() + 24;
    }
    if (!hit.title) hit.edge = edge_at(point, reach);
    if (hit.edge >= 0) hit.cluster = -1;
    return hit;
}

void GraphLayer::set_coloring(Coloring coloring, std::vector<double> heat) {
    coloring_ = coloring;
    heat_ = std::move(heat);
    update();
}

void GraphLayer::set_has_schedule(bool with_schedule) {
    has_schedule_ = with_schedule;
    update();
}

void GraphLayer::set_marked(std::vector<int> items, int cluster) {
    marked_ = std::move(items);
    marked_cluster_ = cluster;
    update();
}

void GraphLayer::set_marked_edge(int edge) {
    if (edge == marked_edge_) return;
    marked_edge_ = edge;
    update();
}

void GraphLayer::set_running(int item) {
    if (item == running_) return;
    running_ = item;
    update();
}

void GraphLayer::set_notes(std::vector<ItemNote> notes) {
    notes_ = std::move(notes);
    update();
}

void GraphLayer::paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) {
    if (!ladder_) return;
    const double detail = option->levelOfDetailFromTransform(painter->worldTransform());
    const QRectF exposed = option->exposedRect.adjusted(-4, -4, 4, 4);
    for (int column = 0; column < columns_.count(); ++column) {
        const QRectF place = exposed.translated(-columns_.shift(column)) & columns_.part(column);
        if (place.isEmpty()) continue;
        painter->save();
        painter->translate(columns_.shift(column));
        if (columns_.count() > 1) painter->setClipRect(columns_.part(column), Qt::IntersectClip);
        paint_place(*painter, place, detail);
        painter->restore();
    }
}

void GraphLayer::paint_place(QPainter& painter, const QRectF& place, double detail) {
    const std::vector<int> items = items_at(place), edges = edges_at(place);
    QtCanvas canvas(painter, detail > 0.15);
    paint_blocks(canvas, {.view = ladder_->view,
                          .layout = ladder_->layout,
                          .with_schedule = has_schedule_,
                          .coloring = coloring_,
                          .heat = &heat_,
                          .detail = detail,
                          .part = Rect{place.x(), place.y(), place.width(), place.height()},
                          .items = &items,
                          .edges = &edges,
                          .marked = &marked_,
                          .marked_cluster = marked_cluster_,
                          .marked_edge = marked_edge_,
                          .notes = notes_.size() == ladder_->view.items.size() ? &notes_ : nullptr,
                          .running = running_,
                          .paper = theme::paper()});
}

}  // namespace rematlas::explorer
