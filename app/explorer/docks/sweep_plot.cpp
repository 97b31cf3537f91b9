#include "app/explorer/docks/sweep_plot.h"

#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/session/qt_ruler.h"
#include "app/explorer/session/wording.h"

namespace rematlas::explorer {
namespace {

constexpr double reach = 14;  ///< pixels between a click and a point

/// Scales an interval around a value that stays where it is.
void scale_around(double& low, double& high, double at, double factor) {
    low = at - (at - low) * factor;
    high = at + (high - at) * factor;
}

}  // namespace

SweepPlot::SweepPlot(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
    setObjectName("sweep_plot");
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
}

SweepScene SweepPlot::scene() const {
    SweepScene scene{.sweep = session_.sweep.sweep(),
                     .range = range_,
                     .rect = {0, 0, static_cast<double>(width()), static_cast<double>(height())},
                     .legend_above = true,
                     .text_size = 11,
                     .hovered_curve = hovered_curve_,
                     .hovered_point = hovered_point_};
    if (session_.graph()) {
        scene.keep_all = session_.graph()->full_peak;
        scene.least = session_.graph()->least.bytes;
        scene.budget = session_.budget.budget();
    }
    const SchedulePtr& schedule = session_.schedule();
    if (schedule && schedule->ok()) scene.shown = SweepSpot{schedule->report.peak, schedule->report.overhead};
    return scene;
}

void SweepPlot::show_all() {
    range_.reset();
    update();
}

SweepRange SweepPlot::range() const {
    return range_.value_or(whole_range(scene()));
}

std::optional<SweepMarker> SweepPlot::nearest(const QPointF& position) const {
    std::optional<SweepMarker> best;
    double least = reach;
    for (const SweepMarker& marker : sweep_markers(scene(), qt_ruler())) {
        const double distance = std::hypot(marker.at.x - position.x(), marker.at.y - position.y());
        if (distance >= least) continue;
        least = distance;
        best = marker;
    }
    return best;
}

void SweepPlot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme::base);
    QtCanvas canvas(painter);
    paint_sweep(canvas, scene());
}

void SweepPlot::wheelEvent(QWheelEvent* event) {
    const SweepRange whole = whole_range(scene());
    SweepRange range = this->range();
    const SweepPlaces places = places_of(scene(), qt_ruler());
    const double share = std::clamp((event->position().x() - places.plot.x) / places.plot.width, 0.0, 1.0);
    const double rise = std::clamp((event->position().y() - places.plot.y) / places.plot.height, 0.0, 1.0);
    double factor = std::pow(1.0015, -event->angleDelta().y());
    factor = std::clamp(factor * (range.most - range.least) / (whole.most - whole.least), 1e-3, 4.0) *
             (whole.most - whole.least) / (range.most - range.least);
    scale_around(range.least, range.most, range.least + share * (range.most - range.least), factor);
    scale_around(range.fastest, range.slowest, range.slowest - rise * (range.slowest - range.fastest),
                 factor);
    range_ = range;
    update();
    event->accept();
}

void SweepPlot::mousePressEvent(QMouseEvent* event) {
    press_ = event->localPos();
    press_range_ = range();
    panning_ = false;
}

void SweepPlot::mouseMoveEvent(QMouseEvent* event) {
    if (!(event->buttons() & Qt::LeftButton)) {
        hover(event->localPos(), event->globalPos());
        return;
    }
    if (panning_ || (event->localPos() - press_).manhattanLength() > 4) pan(event->localPos());
}

void SweepPlot::pan(const QPointF& position) {
    panning_ = true;
    const Rect plot = places_of(scene(), qt_ruler()).plot;
    const QPointF moved = position - press_;
    const double bytes = moved.x() / plot.width * (press_range_.most - press_range_.least);
    const double time = moved.y() / plot.height * (press_range_.slowest - press_range_.fastest);
    range_ = SweepRange{press_range_.least - bytes, press_range_.most - bytes, press_range_.fastest + time,
                        press_range_.slowest + time};
    update();
}

void SweepPlot::hover(const QPointF& position, const QPoint& global) {
    const std::optional<SweepMarker> near = nearest(position);
    hovered_curve_ = near ? near->curve : -1;
    hovered_point_ = near ? near->point : -1;
    setCursor(near ? Qt::PointingHandCursor : Qt::ArrowCursor);
    update();
    if (!near) {
        QToolTip::hideText();
        return;
    }
    const SweepCurve& curve = session_.sweep.sweep().curves[near->curve];
    const SweepPoint& point = curve.points[near->point];
    QToolTip::showText(global,
                       tr("%1: peak %2, %3 time\nclick to show this schedule")
                           .arg(text(curve.solver), bytes_text(point.peak), overhead_text(point.overhead)),
                       this);
}

void SweepPlot::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && !panning_) emit chosen(event->localPos());
}

void SweepPlot::mouseDoubleClickEvent(QMouseEvent*) {
    show_all();
}

void SweepPlot::leaveEvent(QEvent*) {
    hovered_curve_ = hovered_point_ = -1;
    update();
}

}  // namespace rematlas::explorer
