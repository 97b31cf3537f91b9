#include "app/explorer/look/range_view.h"

#include <QMouseEvent>
#include <QWheelEvent>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

RangeView::RangeView(const QString& object_name, const QString& accessible_name) {
    setObjectName(object_name);
    setAccessibleName(accessible_name);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    theme::on_change(this, [this] { update(); });
}

void RangeView::add_range_keys(ViewKeys& keys, const std::function<double()>& middle, const QString& click) {
    if (middle) {
        keys.add({Qt::Key_Plus}, tr("Zoom in"), [this, middle] { zoom_at(middle(), 0.8); });
        keys.add({Qt::Key_Minus}, tr("Zoom out"), [this, middle] { zoom_at(middle(), 1.25); });
    }
    keys.add({Qt::Key_Home, Qt::Key_Space}, tr("Show all"), [this] { show_all(); });
    keys.tell(tr("Click"), click.isEmpty() ? tr("Put the cursor there") : click);
}

void RangeView::tell_gestures(ViewKeys& keys) {
    keys.tell(tr("Wheel"), tr("Zoom"));
    keys.tell(tr("Drag"), tr("Move the picture"));
    keys.tell(tr("Double click"), tr("Show all"));
}

void RangeView::show_all() {
    if (!is_empty()) reset_range();
}

void RangeView::reset_range() {
    shown_.show_all(length());
    show_range();
}

void RangeView::set_range(double from, double to) {
    shown_.set(from, to);
    show_range();
}

void RangeView::bring_into_sight(double at) {
    const double half = shown_.span() / 2;
    if (!shown_.contains(at)) set_range(at - half, at + half);
}

void RangeView::zoom_at(double at, double factor) {
    if (is_empty()) return;
    shown_.zoom(at, factor);
    show_range();
}

double RangeView::at_of(double x) const {
    const Rect area = axis_area();
    return shown_.at(x, area.x, area.width);
}

void RangeView::resizeEvent(QResizeEvent*) {
    show_range();
}

void RangeView::wheelEvent(QWheelEvent* event) {
    if (is_empty()) return;
    zoom_at(at_of(event->position().x()), wheel_factor(event->angleDelta().y()));
    event->accept();
}

void RangeView::mousePressEvent(QMouseEvent* event) {
    shown_.press(event->localPos().x());
}

void RangeView::mouseMoveEvent(QMouseEvent* event) {
    if (is_empty() || !(event->buttons() & Qt::LeftButton)) return;
    if (shown_.drag(event->localPos().x(), axis_area().width)) show_range();
}

void RangeView::mouseReleaseEvent(QMouseEvent* event) {
    if (is_empty() || shown_.dragged() || event->button() != Qt::LeftButton) return;
    click(at_of(event->localPos().x()), *event);
}

void RangeView::mouseDoubleClickEvent(QMouseEvent*) {
    show_all();
}

}  // namespace rematlas::explorer
