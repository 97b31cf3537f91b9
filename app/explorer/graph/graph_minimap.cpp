#include "app/explorer/graph/graph_minimap.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "app/explorer/graph/graph_view.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {
namespace {

constexpr int most_width = 120, most_height = 340, inset = 5;
constexpr double most_share = 0.15;  ///< the largest share of the view's area that the minimap may cover

}  // namespace

GraphMinimap::GraphMinimap(GraphView& view) : QWidget(&view), view_(view) {
    setCursor(Qt::PointingHandCursor);
    setToolTip(tr("The whole graph; click to go there"));
    hide();
    connect(&view_, &GraphView::zoomed, this, &GraphMinimap::follow);
    theme::on_change(this, [this] { refresh(); });
}

void GraphMinimap::refresh() {
    const QSizeF whole = view_.whole_size();
    if (whole.isEmpty()) return hide();
    const double room = std::min<double>(most_height, view_.viewport()->height() * 0.6);
    scale_ = std::min((most_width - 2 * inset) / whole.width(), (room - 2 * inset) / whole.height());
    const QSize size(std::max(18, qRound(whole.width() * scale_)),
                     std::max(18, qRound(whole.height() * scale_)));
    const qreal ratio = devicePixelRatioF();
    picture_ = QPixmap(size * ratio);
    picture_.setDevicePixelRatio(ratio);
    picture_.fill(Qt::transparent);
    QPainter painter(&picture_);
    bounds_ = bounds_of_graph();
    view_.scene()->render(&painter, QRectF(QPointF(0, 0), size), bounds_);
    resize(size.width() + 2 * inset, size.height() + 2 * inset);
    place();
    follow();
}

/// Hides the minimap if the whole graph is in view, or if the minimap would cover too much of a small view.
void GraphMinimap::follow() {
    const QRect viewport = view_.viewport()->rect().adjusted(-2, -2, 2, 2);  // two points for rounding errors
    const QRectF seen = view_.mapToScene(viewport).boundingRect();
    const double share = double(width()) * height() / std::max(1, viewport.width() * viewport.height());
    setVisible(!view_.whole_size().isEmpty() && share < most_share && !seen.contains(bounds_of_graph()));
    update();
}

QRectF GraphMinimap::bounds_of_graph() const {
    return view_.scene()->items().first()->boundingRect();
}

void GraphMinimap::place() {
    if (view_.whole_size().isEmpty()) return;
    move(view_.viewport()->width() - width() - 12, 12);
}

void GraphMinimap::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(theme::line);
    QColor ground = theme::base;
    ground.setAlpha(240);
    painter.setBrush(ground);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
    painter.drawPixmap(inset, inset, picture_);
    const QRectF shown = view_.mapToScene(view_.viewport()->rect()).boundingRect() & bounds_;
    const QRectF box((shown.left() - bounds_.left()) * scale_ + inset,
                     (shown.top() - bounds_.top()) * scale_ + inset, shown.width() * scale_,
                     shown.height() * scale_);
    QColor fill = theme::accent;
    fill.setAlphaF(0.10);
    painter.setPen(QPen(theme::accent, 1.3));
    painter.setBrush(fill);
    painter.drawRect(box);
}

void GraphMinimap::mousePressEvent(QMouseEvent* event) {
    go_to(event->pos());
}

void GraphMinimap::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() & Qt::LeftButton) go_to(event->pos());
}

void GraphMinimap::go_to(const QPoint& position) {
    view_.centerOn(bounds_.left() + (position.x() - inset) / scale_,
                   bounds_.top() + (position.y() - inset) / scale_);
    update();
}

}  // namespace rematlas::explorer
