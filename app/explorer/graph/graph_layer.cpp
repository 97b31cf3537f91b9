#include "app/explorer/graph/graph_layer.h"

#include <QPainter>
#include <QStyleOptionGraphicsItem>
#include <algorithm>
#include <cmath>

#include "app/explorer/look/theme.h"
#include "app/explorer/session/wording.h"

namespace rematlas::explorer {
namespace {

constexpr double cell = 400;
constexpr double room = 16;  ///< around the drawing, so that frames at its border are whole

QRectF qt(const Rect& r) {
    return {r.x, r.y, r.width, r.height};
}
QPointF qt(const Point& p) {
    return {p.x, p.y};
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

QPainterPath path_of(const std::vector<Point>& spline) {
    QPainterPath path;
    if (spline.empty()) return path;
    path.moveTo(qt(spline[0]));
    for (std::size_t i = 1; i + 2 < spline.size(); i += 3)
        path.cubicTo(qt(spline[i]), qt(spline[i + 1]), qt(spline[i + 2]));
    return path;
}

}  // namespace

void GraphLayer::set_ladder(LadderPtr ladder) {
    prepareGeometryChange();
    const bool same_layout = ladder && ladder_ && ladder->layout == ladder_->layout;
    ladder_ = std::move(ladder);
    if (!same_layout) build_index();
    update();
}

void GraphLayer::build_index() {
    paths_.clear();
    path_bounds_.clear();
    cells_.clear();
    edges_of_.clear();
    marked_.clear();
    marked_cluster_ = running_ = -1;
    bounds_ = {};
    if (!ladder_) return;
    const Layout& layout = ladder_->layout;
    bounds_ = QRectF(0, 0, layout.size.width, layout.size.height).adjusted(-room, -room, room, room);
    for (const auto& spline : layout.edges) {
        paths_.push_back(path_of(spline));
        path_bounds_.push_back(paths_.back().controlPointRect().adjusted(-6, -6, 6, 6));
    }
    edges_of_.resize(layout.items.size());
    for (std::size_t i = 0; i < layout.items.size(); ++i) {
        visit_cells(qt(layout.items[i]), [&](qint64 key) { cells_[key].push_back(static_cast<int>(i)); });
    }
    for (std::size_t i = 0; i < ladder_->view.edges.size(); ++i) {
        edges_of_[ladder_->view.edges[i].from].push_back(static_cast<int>(i));
        edges_of_[ladder_->view.edges[i].to].push_back(static_cast<int>(i));
    }
}

std::vector<int> GraphLayer::items_in(const QRectF& rect) const {
    std::vector<int> found;
    const QRectF inside = rect & bounds_;
    if (inside.isEmpty()) return found;
    visit_cells(inside, [&](qint64 key) {
        const auto at = cells_.find(key);
        if (at == cells_.end()) return;
        for (int item : at->second) {
            if (item_rect(item).intersects(rect)) found.push_back(item);
        }
    });
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

QRectF GraphLayer::item_rect(int item) const {
    return qt(ladder_->layout.items[item]);
}
QRectF GraphLayer::cluster_rect(int cluster) const {
    return qt(ladder_->layout.clusters[cluster]);
}

QRectF GraphLayer::marked_rect() const {
    QRectF rect;
    for (int item : marked_) rect |= item_rect(item);
    if (marked_cluster_ >= 0) rect |= cluster_rect(marked_cluster_);
    return rect;
}

GraphHit GraphLayer::hit(const QPointF& point) const {
    GraphHit hit;
    if (!ladder_) return hit;
    for (int item : items_in(QRectF(point, QSizeF(0.1, 0.1)))) hit.item = item;
    if (hit.item >= 0) return hit;
    // Parents come first, so the last frame that holds the point is the innermost one.
    for (std::size_t i = 0; i < ladder_->layout.clusters.size(); ++i) {
        const QRectF rect = cluster_rect(static_cast<int>(i));
        if (!rect.contains(point)) continue;
        hit.cluster = static_cast<int>(i);
        hit.title = point.y() < rect.top() + 24;
    }
    return hit;
}

void GraphLayer::set_coloring(Coloring coloring) {
    coloring_ = coloring;
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

void GraphLayer::set_running(int item) {
    if (item == running_) return;
    running_ = item;
    update();
}

QColor GraphLayer::color_of(const BlockViewItem& item) const {
    if (coloring_ == Coloring::phase || !has_schedule_) return theme::of(item.phase);
    return theme::of(item.made.largest());
}

void GraphLayer::paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) {
    if (!ladder_) return;
    const double detail = full_detail_ ? 10 : option->levelOfDetailFromTransform(painter->worldTransform());
    const QRectF exposed = full_detail_ ? bounds_ : option->exposedRect.adjusted(-4, -4, 4, 4);
    painter->setRenderHint(QPainter::Antialiasing, detail > 0.15);
    paint_clusters(*painter, exposed, detail);
    paint_edges(*painter, exposed, detail);
    for (int item : items_in(exposed)) paint_item(*painter, item, detail);
}

void GraphLayer::paint_clusters(QPainter& painter, const QRectF& exposed, double detail) const {
    painter.setFont(frame_font());
    for (std::size_t i = 0; i < ladder_->view.clusters.size(); ++i) {
        const QRectF rect = cluster_rect(static_cast<int>(i));
        if (!rect.intersects(exposed)) continue;
        const BlockViewCluster& cluster = ladder_->view.clusters[i];
        const QColor color = theme::of(cluster.phase);
        const bool marked = static_cast<int>(i) == marked_cluster_;
        QColor fill = color;
        fill.setAlphaF(0.035);
        painter.setPen(QPen(marked ? theme::highlight : theme::tint(color, 0.45), marked ? 2.5 : 1));
        painter.setBrush(fill);
        painter.drawRoundedRect(rect, 6, 6);
        if (detail < 0.3) continue;
        QString title = numbered_name(text(cluster.label), text(cluster.path));
        if (cluster.repeats > 1) title += QStringLiteral("  \u00d7%1").arg(cluster.repeats);
        const QRectF strip = rect.adjusted(9, 3, -9, 0);
        painter.setPen(theme::muted);
        painter.drawText(
            QRectF(strip.topLeft(), QSizeF(strip.width(), 17)), Qt::AlignLeft | Qt::AlignVCenter,
            painter.fontMetrics().elidedText(title, Qt::ElideRight, static_cast<int>(strip.width())));
    }
}

void GraphLayer::paint_edges(QPainter& painter, const QRectF& exposed, double detail) const {
    painter.setBrush(Qt::NoBrush);
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        if (!path_bounds_[i].intersects(exposed) || paths_[i].isEmpty()) continue;
        const BlockViewEdge& edge = ladder_->view.edges[i];
        const bool touched = std::any_of(marked_.begin(), marked_.end(),
                                         [&](int m) { return m == edge.from || m == edge.to; }) &&
                             marked_.size() <= 8;
        QColor color(0x9a, 0xa7, 0xb6);
        if (edge.role == EdgeRole::rung) {
            // Rungs are the saved tensors, which is what a decision cuts.
            color = has_schedule_ && coloring_ == Coloring::decision ? theme::of(edge.bytes.largest())
                                                                     : QColor(0xc4, 0xcd, 0xd8);
        }
        if (touched) color = theme::ink;
        QPen pen(color, touched ? 1.8 : 1.1);
        if (detail < 0.3) pen.setCosmetic(true), pen.setWidthF(0.7);
        if (edge.role == EdgeRole::rung && has_schedule_ && edge.bytes.largest() != Decision::keep &&
            detail >= 0.3) {
            pen.setDashPattern({4, 3});
        }
        painter.setPen(pen);
        painter.drawPath(paths_[i]);
        if (detail >= 0.4) paint_arrow(painter, ladder_->layout.edges[i]);
    }
}

void GraphLayer::paint_arrow(QPainter& painter, const std::vector<Point>& spline) const {
    if (spline.size() < 4) return;
    const QPointF tip = qt(spline.back()), from = qt(spline[spline.size() - 2]);
    const QPointF along = tip - from;
    const double length = std::hypot(along.x(), along.y());
    if (length < 0.01) return;
    const QPointF unit = along / length, across(-unit.y(), unit.x());
    const QPointF triangle[] = {tip, tip - unit * 6 + across * 2.8, tip - unit * 6 - across * 2.8};
    painter.save();
    painter.setBrush(painter.pen().color());
    painter.setPen(Qt::NoPen);
    painter.drawPolygon(triangle, 3);
    painter.restore();
}

void GraphLayer::paint_item(QPainter& painter, int index, double detail) const {
    const BlockViewItem& item = ladder_->view.items[index];
    const QRectF rect = item_rect(index);
    const QColor color = color_of(item);
    if (detail < 0.12) {
        painter.fillRect(rect, theme::tint(color, 0.75));
        return;
    }
    const bool block = item.block.valid();
    if (block && detail > 0.25) {  // a second sheet behind it tells that there is more inside
        painter.setPen(QPen(theme::tint(color, 0.5), 1));
        painter.setBrush(theme::tint(color, 0.10));
        painter.drawRoundedRect(rect.translated(3, 3), 5, 5);
    }
    painter.setPen(QPen(theme::tint(color, 0.75), 1.2));
    painter.setBrush(theme::tint(color, 0.16));
    painter.drawRoundedRect(rect, 5, 5);
    if (detail > 0.2) paint_shares(painter, item, rect);
    if (detail > 0.35) paint_labels(painter, item, rect, detail);
    const bool marked = std::binary_search(marked_.begin(), marked_.end(), index);
    if (marked || index == running_) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(marked ? theme::highlight : theme::ink, marked ? 3 : 2));
        painter.drawRoundedRect(rect.adjusted(-2.5, -2.5, 2.5, 2.5), 7, 7);
    }
}

void GraphLayer::paint_shares(QPainter& painter, const BlockViewItem& item, const QRectF& rect) const {
    const QRectF bar(rect.left() + 4, rect.top() + 5, 4, rect.height() - 10);
    painter.setPen(Qt::NoPen);
    if (!has_schedule_ || coloring_ == Coloring::phase || item.made.total().value == 0) {
        painter.setBrush(color_of(item));
        painter.drawRoundedRect(bar, 2, 2);
        return;
    }
    double top = bar.top();
    const std::pair<Bytes, Decision> shares[] = {{item.made.kept, Decision::keep},
                                                 {item.made.recomputed, Decision::recompute},
                                                 {item.made.offloaded, Decision::offload}};
    for (const auto& [bytes, decision] : shares) {
        const double height =
            bar.height() * static_cast<double>(bytes.value) / static_cast<double>(item.made.total().value);
        painter.setBrush(theme::of(decision));
        painter.drawRect(QRectF(bar.left(), top, bar.width(), height));
        top += height;
    }
}

void GraphLayer::paint_labels(QPainter& painter, const BlockViewItem& item, const QRectF& rect,
                              double detail) const {
    const QRectF inner = rect.adjusted(13, 4, -7, -4);
    QString badge;
    if (item.block.valid() && item.repeats > 1) badge = QStringLiteral("\u00d7%1").arg(item.repeats);
    const bool rerun = item.op.valid() && item.runs > 1;
    if (rerun) badge = QStringLiteral("%1 runs").arg(item.runs);
    painter.setFont(frame_font());
    const double badge_width = badge.isEmpty() ? 0 : painter.fontMetrics().horizontalAdvance(badge) + 6;
    if (!badge.isEmpty()) {
        painter.setPen(rerun ? theme::of(Decision::recompute).darker(115) : theme::muted);
        const QRectF line = detail > 0.6
                                ? QRectF(inner.left(), inner.center().y(), inner.width(), inner.height() / 2)
                                : inner;
        painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, badge);
    }
    if (detail > 0.6) {
        painter.setPen(theme::muted);
        const QRectF lower(inner.left(), inner.center().y(), inner.width() - badge_width, inner.height() / 2);
        painter.drawText(lower, Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(item_caption(item), Qt::ElideRight,
                                                          static_cast<int>(lower.width())));
    }
    painter.setFont(item_font());
    painter.setPen(theme::ink);
    const bool two_lines = detail > 0.6;
    const QRectF upper(inner.left(), inner.top(), inner.width() - (two_lines ? 0 : badge_width),
                       two_lines ? inner.height() / 2 : inner.height());
    painter.drawText(upper, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(item_title(item), Qt::ElideRight,
                                                      static_cast<int>(upper.width()) + 1));
}

}  // namespace rematlas::explorer
