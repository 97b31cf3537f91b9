#include "app/explorer/followed/followed_view.h"

#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/look/view_keys.h"

namespace rematlas::explorer {

FollowedView::FollowedView(QWidget* parent) : QWidget(parent) {
    setObjectName("followed_view");
    setAccessibleName(tr("Steps of the training run"));
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    make_keys();
    theme::on_change(this, [this] { update(); });
}

void FollowedView::make_keys() {
    auto* keys = new ViewKeys(*this, tr("Steps of a training run"));
    keys->add({Qt::Key_Right}, tr("Go to the next step"), [this] { go_by(1); });
    keys->add({Qt::Key_Left}, tr("Go to the step before"), [this] { go_by(-1); });
    keys->add({Qt::Key_Plus}, tr("Zoom in"), [this] { zoom_at((from() + to()) / 2, 0.8); });
    keys->add({Qt::Key_Minus}, tr("Zoom out"), [this] { zoom_at((from() + to()) / 2, 1.25); });
    keys->add({Qt::Key_Home, Qt::Key_Space}, tr("Show all"), [this] { show_all(); });
    keys->tell(tr("Click"), tr("Put the cursor there"));
    keys->tell(tr("Wheel"), tr("Zoom"));
    keys->tell(tr("Drag"), tr("Move the picture"));
    keys->tell(tr("Double click"), tr("Show all"));
}

void FollowedView::set_run(const RunSteps& run) {
    run_ = &run;
    cursor_.reset();
    show_all();
}

void FollowedView::grow() {
    const bool was_all = shown_.is_all(), was_at_end = to() >= known_steps_;
    const double from = shown_.from(), span = shown_.span(), length = static_cast<double>(run_->steps.size());
    known_steps_ = length;
    shown_.show_all(length);
    if (!was_all) shown_.set(was_at_end ? length - span : from, was_at_end ? length : from + span);
    show_range();
}

void FollowedView::set_cursor(std::optional<std::size_t> step) {
    if (cursor_ == step) return;
    cursor_ = step;
    if (step && !shown_.contains(static_cast<double>(*step))) {
        const double half = shown_.span() / 2, middle = static_cast<double>(*step);
        shown_.set(middle - half, middle + half);
        show_range();
    }
    update();
    emit cursor_moved();
}

void FollowedView::show_all() {
    if (!has_steps()) return;
    known_steps_ = static_cast<double>(run_->steps.size());
    shown_.show_all(known_steps_);
    show_range();
}

void FollowedView::show_range() {
    if (has_steps())
        columns_ = run_columns(*run_, from(), to(), static_cast<std::size_t>(std::max(50, width() / 2)));
    update();
}

RunScene FollowedView::scene() const {
    return {.run = *run_,
            .columns = columns_,
            .from = from(),
            .to = to(),
            .cursor = cursor_,
            .rect = {0, 0, static_cast<double>(width()), static_cast<double>(height())},
            .paper = theme::paper()};
}

void FollowedView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme::base);
    if (!has_steps()) {
        painter.setPen(theme::muted);
        painter.drawText(rect(), Qt::AlignCenter, tr("No step is over yet."));
        return;
    }
    QtCanvas canvas(painter);
    paint_run(canvas, scene());
}

void FollowedView::resizeEvent(QResizeEvent*) {
    show_range();
}

void FollowedView::zoom_at(double at, double factor) {
    if (!has_steps()) return;
    shown_.zoom(at, factor);
    show_range();
}

void FollowedView::go_by(int steps) {
    if (!has_steps()) return;
    const auto last = static_cast<qint64>(run_->steps.size()) - 1;
    const qint64 now = cursor_ ? static_cast<qint64>(*cursor_) : steps > 0 ? -1 : last + 1;
    set_cursor(static_cast<std::size_t>(std::clamp<qint64>(now + steps, 0, last)));
}

void FollowedView::wheelEvent(QWheelEvent* event) {
    if (!has_steps()) return;
    const Rect area = plot();
    zoom_at(shown_.at(event->position().x(), area.x, area.width), wheel_factor(event->angleDelta().y()));
    event->accept();
}

void FollowedView::mousePressEvent(QMouseEvent* event) {
    shown_.press(event->localPos().x());
}

void FollowedView::mouseMoveEvent(QMouseEvent* event) {
    if (!has_steps() || !(event->buttons() & Qt::LeftButton)) return;
    if (shown_.drag(event->localPos().x(), plot().width)) show_range();
}

/// A click chooses the step that is shown for its column of the picture.
void FollowedView::mouseReleaseEvent(QMouseEvent* event) {
    if (!has_steps() || shown_.dragged() || event->button() != Qt::LeftButton) return;
    const Rect area = plot();
    const double at = shown_.at(event->localPos().x(), area.x, area.width);
    for (const RunColumn& column : columns_)
        if (at >= static_cast<double>(column.begin) && at < static_cast<double>(column.end))
            return set_cursor(column.shown);
}

void FollowedView::mouseDoubleClickEvent(QMouseEvent*) {
    show_all();
}

}  // namespace rematlas::explorer
