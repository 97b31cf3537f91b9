#include "app/explorer/docks/range_brush.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {
namespace {

/// A drag that begins within this distance (pixels) of an end of the shown part moves this end.
constexpr double grip_reach = 6;

}  // namespace

RangeBrush::RangeBrush(LanesView& lanes) : lanes_(lanes) {
    setObjectName("range_brush");
    setMouseTracking(true);
    setToolTip(tr("The whole step. Drag to choose the part that is shown, double click to show all."));
    setAccessibleName(tr("Shown part of the step"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&lanes_, &LanesView::range_changed, this, qOverload<>(&QWidget::update));
}

OverviewScene RangeBrush::scene() const {
    const Rect plot = lanes_.plot();
    return {.data = lanes_.data(),
            .from = lanes_.from(),
            .to = lanes_.to(),
            .rect = {plot.x, 4, plot.width, height() - 10.0},
            .paper = theme::paper()};
}

double RangeBrush::at_of(double x) const {
    const Rect rect = scene().rect;
    const double share = (x - rect.x) / std::max(1.0, rect.width);
    return std::clamp(share, 0.0, 1.0) * std::max(lanes_.data().length, 1e-6);
}

RangeBrush::Grip RangeBrush::grip_at(double x) const {
    const OverviewScene shown = scene();
    const Rect window = window_of(shown);
    if (window.width >= shown.rect.width - 1) return Grip::anew;
    if (std::abs(x - window.x) <= grip_reach) return Grip::begin;
    if (std::abs(x - window.x - window.width) <= grip_reach) return Grip::end;
    return x > window.x && x < window.x + window.width ? Grip::part : Grip::anew;
}

void RangeBrush::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme::base);
    if (lanes_.data().bars.empty()) return;
    QtCanvas canvas(painter);
    paint_overview(canvas, scene());
}

void RangeBrush::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || lanes_.data().bars.empty()) return;
    grip_ = grip_at(event->localPos().x());
    press_ = at_of(event->localPos().x());
    from_ = lanes_.from();
    to_ = lanes_.to();
}

void RangeBrush::mouseMoveEvent(QMouseEvent* event) {
    if (lanes_.data().bars.empty()) return;
    const double x = event->localPos().x(), at = at_of(x);
    if (!(event->buttons() & Qt::LeftButton)) {
        const Grip grip = grip_at(x);
        setCursor(grip == Grip::part   ? Qt::OpenHandCursor
                  : grip == Grip::anew ? Qt::CrossCursor
                                       : Qt::SizeHorCursor);
        return;
    }
    switch (grip_) {
        case Grip::none:
            return;
        case Grip::begin:
            return lanes_.set_range(std::min(at, to_), std::max(at, to_));
        case Grip::end:
            return lanes_.set_range(std::min(at, from_), std::max(at, from_));
        case Grip::part:
            return lanes_.set_range(from_ + at - press_, to_ + at - press_);
        case Grip::anew:
            return lanes_.set_range(std::min(at, press_), std::max(at, press_));
    }
}

void RangeBrush::mouseReleaseEvent(QMouseEvent*) {
    grip_ = Grip::none;
}

void RangeBrush::mouseDoubleClickEvent(QMouseEvent*) {
    lanes_.show_all();
}

}  // namespace rematlas::explorer
