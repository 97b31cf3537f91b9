#include "app/explorer/measured/measured_view.h"

#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/look/view_keys.h"

namespace rematlas::explorer {

MeasuredView::MeasuredView(QWidget* parent) : QWidget(parent) {
    setObjectName("measured_view");
    setAccessibleName(tr("Measured memory over time"));
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    make_keys();
    theme::on_change(this, [this] { update(); });
}

void MeasuredView::make_keys() {
    auto* keys = new ViewKeys(*this, tr("Measured memory"));
    keys->add({Qt::Key_Right}, tr("Go to the next event"), [this] { go_by_events(1); });
    keys->add({Qt::Key_Left}, tr("Go to the event before"), [this] { go_by_events(-1); });
    keys->add({Qt::Key_Plus}, tr("Zoom in"), [this] { zoom_at(cursor_, 0.8); });
    keys->add({Qt::Key_Minus}, tr("Zoom out"), [this] { zoom_at(cursor_, 1.25); });
    keys->add({Qt::Key_Home, Qt::Key_Space}, tr("Show all"), [this] { show_all(); });
    keys->tell(tr("Click"), tr("Put the cursor there"));
    keys->tell(tr("Wheel"), tr("Zoom"));
    keys->tell(tr("Drag"), tr("Move the picture"));
    keys->tell(tr("Double click"), tr("Show all"));
}

void MeasuredView::set_device(MeasurementPtr measurement, std::size_t device) {
    measurement_ = std::move(measurement);
    device_ = device;
    lay_plan();
    show_all();
    set_cursor(bands().peak);
}

void MeasuredView::set_plan(const SchedulePtr& plan) {
    planned_.clear();
    if (plan)
        for (const StepTrace& step : plan->simulation.steps) planned_.push_back(step.during.value);
    lay_plan();
    update();
}

void MeasuredView::lay_plan() {
    plan_ = measurement_ ? laid_over(planned_, bands().device->allocated) : std::vector<MemoryPoint>();
}

void MeasuredView::set_cursor(TraceMoment moment) {
    cursor_ = moment;
    legend_ = bytes_by_band(bands(), moment);
    update();
    emit cursor_moved();
}

void MeasuredView::show_all() {
    if (!measurement_) return;
    shown_.show_all(bands().length());
    columns_width_ = -1;
    update();
}

MeasuredScene MeasuredView::scene() {
    if (columns_width_ != width() || columns_from_ != from() || columns_to_ != to()) {
        columns_ = columns_of(bands(), from(), to(), static_cast<std::size_t>(std::max(50, width())));
        columns_width_ = width();
        columns_from_ = from();
        columns_to_ = to();
    }
    return {.bands = bands(),
            .columns = columns_,
            .from = from(),
            .to = to(),
            .cursor = cursor_,
            .legend = &legend_,
            .plan = &plan_,
            .rect = {0, 0, static_cast<double>(width()), static_cast<double>(height())},
            .paper = theme::paper()};
}

Rect MeasuredView::plot() {
    return places_of(scene()).plot;
}

void MeasuredView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme::base);
    if (!measurement_) return;
    QtCanvas canvas(painter);
    paint_measured(canvas, scene());
}

void MeasuredView::zoom_at(double at, double factor) {
    if (!measurement_) return;
    shown_.zoom(at, factor);
    update();
}

void MeasuredView::go_by_events(int count) {
    if (!measurement_) return;
    const double moved = std::clamp(static_cast<double>(cursor_) + count, 0.0, bands().length() - 1);
    set_cursor(static_cast<TraceMoment>(moved));
    const double half = shown_.span() / 2;
    if (!shown_.contains(moved)) shown_.set(moved - half, moved + half);
    update();
}

void MeasuredView::wheelEvent(QWheelEvent* event) {
    if (!measurement_) return;
    const Rect area = plot();
    zoom_at(shown_.at(event->position().x(), area.x, area.width), wheel_factor(event->angleDelta().y()));
    event->accept();
}

void MeasuredView::mousePressEvent(QMouseEvent* event) {
    shown_.press(event->localPos().x());
}

void MeasuredView::mouseMoveEvent(QMouseEvent* event) {
    if (!measurement_ || !(event->buttons() & Qt::LeftButton)) return;
    if (shown_.drag(event->localPos().x(), plot().width)) update();
}

/// Of the moments that share a column of the picture, the one that is seen.
void MeasuredView::mouseReleaseEvent(QMouseEvent* event) {
    if (!measurement_ || shown_.dragged() || event->button() != Qt::LeftButton) return;
    const Rect area = plot();
    const double at = shown_.at(event->localPos().x(), area.x, area.width);
    for (const BandColumn& column : columns_.columns)
        if (at >= column.begin && at < column.end) return set_cursor(column.shown);
}

void MeasuredView::mouseDoubleClickEvent(QMouseEvent*) {
    show_all();
}

}  // namespace rematlas::explorer
