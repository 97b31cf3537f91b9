#include "app/explorer/docks/sweep_plot.h"

#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/look/view_keys.h"
#include "app/explorer/words/qt_ruler.h"
#include "app/explorer/words/wording.h"
#include "viz/paint/sweep_curves.h"

namespace rematlas::explorer {
namespace {

constexpr double reach = 14;  ///< greatest distance (pixels) between a click and the point that it chooses

/// Multiplies the length of an interval by a factor. `at` keeps its relative position in the interval.
void scale_around(double& low, double& high, double at, double factor) {
    low = at - (at - low) * factor;
    high = at + (high - at) * factor;
}

}  // namespace

SweepPlot::SweepPlot(Session& session) : session_(session) {
    setObjectName("sweep_plot");
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    make_keys();
    setAttribute(Qt::WA_OpaquePaintEvent);
}

SweepScene SweepPlot::scene() const {
    SweepScene scene{.sweep = session_.sweep.sweep(),
                     .range = range_,
                     .rect = {0, 0, static_cast<double>(width()), static_cast<double>(height())},
                     .legend_above = true,
                     .text_size = 11,
                     .hovered_curve = hovered_curve_,
                     .hovered_point = hovered_point_,
                     .paper = theme::paper()};
    if (session_.graph()) {
        scene.keep_all = session_.graph()->full_peak;
        scene.least = session_.graph()->least_with(Offload::none);
        for (const SweepCurve& curve : scene.sweep.curves)
            scene.least = std::min(*scene.least, session_.graph()->least_with(curve.copies.what));
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
    QToolTip::showText(
        global,
        tr("%1: peak %2, %3 time\nclick to show this schedule")
            .arg(text(curve_name(curve)), bytes_text(point.peak), overhead_text(point.overhead)),
        this);
}

void SweepPlot::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && !panning_) emit chosen(event->localPos());
}

void SweepPlot::mouseDoubleClickEvent(QMouseEvent*) {
    show_all();
}

void SweepPlot::walk(int along, int across) {
    // Sorts the markers by curve, and each curve by the memory that the schedules need.
    std::vector<SweepMarker> markers = sweep_markers(scene(), qt_ruler());
    std::stable_sort(markers.begin(), markers.end(), [](const SweepMarker& a, const SweepMarker& b) {
        return std::pair(a.curve, a.at.x) < std::pair(b.curve, b.at.x);
    });
    if (markers.empty()) return;
    const auto here = std::find_if(markers.begin(), markers.end(), [&](const SweepMarker& marker) {
        return marker.curve == hovered_curve_ && marker.point == hovered_point_;
    });
    auto to = here == markers.end() ? markers.begin() : here;
    if (here != markers.end() && along != 0) {
        const auto next = here + along;
        const bool inside = along > 0 ? next != markers.end() : here != markers.begin();
        if (inside && next->curve == here->curve) to = next;
    }
    if (here != markers.end() && across != 0) {
        double least = 1e300;
        for (auto at = markers.begin(); at != markers.end(); ++at) {
            const double distance = std::abs(at->at.x - here->at.x);
            if ((at->curve - here->curve) * across <= 0) continue;
            const double apart = 1e6 * std::abs(at->curve - here->curve) + distance;
            if (apart < least) least = apart, to = at;
        }
    }
    hovered_curve_ = to->curve;
    hovered_point_ = to->point;
    emit walked(hovered_curve_, hovered_point_);
    update();
}

void SweepPlot::make_keys() {
    auto* keys = new ViewKeys(*this, tr("Trade-off"));
    keys->add({Qt::Key_Right}, tr("Go to the next point of the curve"), [this] { walk(1, 0); });
    keys->add({Qt::Key_Left}, tr("Go to the point before"), [this] { walk(-1, 0); });
    keys->add({Qt::Key_Down}, tr("Go to the next solver's curve"), [this] { walk(0, 1); });
    keys->add({Qt::Key_Up}, tr("Go to the curve before"), [this] { walk(0, -1); });
    keys->add({Qt::Key_Return}, tr("Show the schedule of the point"), [this] { choose_walked(); });
    keys->add({Qt::Key_Home, Qt::Key_Space}, tr("Show all"), [this] { show_all(); });
    keys->tell(tr("Click"), tr("Show the schedule of the point"));
    keys->tell(tr("Wheel"), tr("Zoom"));
    keys->tell(tr("Drag"), tr("Move the picture"));
    keys->tell(tr("Double click"), tr("Show all"));
}

void SweepPlot::choose_walked() {
    for (const SweepMarker& marker : sweep_markers(scene(), qt_ruler()))
        if (marker.curve == hovered_curve_ && marker.point == hovered_point_)
            return emit chosen(QPointF(marker.at.x, marker.at.y));
}

void SweepPlot::leaveEvent(QEvent*) {
    hovered_curve_ = hovered_point_ = -1;
    update();
}

}  // namespace rematlas::explorer
