#include "app/explorer/followed/followed_view.h"

#include <QPainter>
#include <algorithm>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

FollowedView::FollowedView() : RangeView("followed_view", tr("Steps of the training run")) {
    auto* keys = new ViewKeys(*this, tr("Steps of a training run"));
    keys->add({Qt::Key_Right}, tr("Go to the next step"), [this] { go_by(1); });
    keys->add({Qt::Key_Left}, tr("Go to the step before"), [this] { go_by(-1); });
    add_range_keys(*keys, [this] { return (from() + to()) / 2; });
    tell_gestures(*keys);
}

void FollowedView::set_run(const RunSteps& run) {
    run_ = &run;
    known_steps_ = static_cast<double>(run.steps.size());
    cursor_.reset();
    show_all();
}

void FollowedView::grow() {
    const bool was_all = shown().is_all(), was_at_end = to() >= known_steps_;
    const double before = from(), span = shown().span();
    known_steps_ = static_cast<double>(run_->steps.size());
    show_all();
    if (was_all) return;
    set_range(was_at_end ? known_steps_ - span : before, was_at_end ? known_steps_ : before + span);
}

void FollowedView::set_cursor(std::optional<std::size_t> step) {
    if (cursor_ == step) return;
    cursor_ = step;
    if (step) bring_into_sight(static_cast<double>(*step));
    update();
    emit cursor_moved();
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

void FollowedView::go_by(int steps) {
    if (!has_steps()) return;
    const auto last = static_cast<qint64>(run_->steps.size()) - 1;
    const qint64 now = cursor_ ? static_cast<qint64>(*cursor_) : steps > 0 ? -1 : last + 1;
    set_cursor(static_cast<std::size_t>(std::clamp<qint64>(now + steps, 0, last)));
}

/// Puts the cursor on the step that is drawn in the clicked column of the picture.
void FollowedView::click(double at, const QMouseEvent&) {
    for (const RunColumn& column : columns_)
        if (at >= static_cast<double>(column.begin) && at < static_cast<double>(column.end))
            return set_cursor(column.shown);
}

}  // namespace rematlas::explorer
