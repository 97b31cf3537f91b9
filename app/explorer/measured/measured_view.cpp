#include "app/explorer/measured/measured_view.h"

#include <QPainter>
#include <algorithm>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

MeasuredView::MeasuredView() : RangeView("measured_view", tr("Measured memory over time")) {
    auto* keys = new ViewKeys(*this, tr("Measured memory"));
    keys->add({Qt::Key_Right}, tr("Go to the next event"), [this] { go_by_events(1); });
    keys->add({Qt::Key_Left}, tr("Go to the event before"), [this] { go_by_events(-1); });
    add_range_keys(*keys, [this] { return static_cast<double>(cursor_); });
    tell_gestures(*keys);
}

void MeasuredView::set_device(MeasurementPtr measurement, std::size_t device) {
    measurement_ = std::move(measurement);
    device_ = device;
    lay_plan();
    columns_width_ = -1;
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

void MeasuredView::show_range() {
    update();  // the columns are computed when the view is painted
}

MeasuredScene MeasuredView::scene() const {
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

Rect MeasuredView::plot() const {
    return places_of(scene()).plot;
}

void MeasuredView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme::base);
    if (!measurement_) return;
    QtCanvas canvas(painter);
    paint_measured(canvas, scene());
}

void MeasuredView::go_by_events(int count) {
    if (!measurement_) return;
    const double moved = std::clamp(static_cast<double>(cursor_) + count, 0.0, bands().length() - 1);
    set_cursor(static_cast<TraceMoment>(moved));
    bring_into_sight(moved);
}

/// Puts the cursor on the moment that is drawn in the clicked column of the picture.
void MeasuredView::click(double at, const QMouseEvent&) {
    for (const BandColumn& column : columns_.columns)
        if (at >= column.begin && at < column.end) return set_cursor(column.shown);
}

}  // namespace rematlas::explorer
