#include "app/explorer/docks/compare_picture.h"

#include <QMouseEvent>
#include <QPainter>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

/// If the picture's height is below this number of pixels, the lanes are narrow, so that enough height is
/// left for the memory curves.
constexpr int low_picture = 330;

std::string side_title(const QString& plan, const LoadedSchedule& schedule) {
    return ComparePicture::tr("%1: %2 time, peak %3")
        .arg(plan, overhead_text(schedule.report.overhead), bytes_text(schedule.report.peak))
        .toStdString();
}

}  // namespace

ComparePicture::ComparePicture(Session& session)
    : RangeView("compare_picture", tr("Two plans over time")), session_(session) {
    auto* keys = new ViewKeys(*this, tr("Compare"));
    keys->add({Qt::Key_Right}, tr("Go to the next run"), [this] { session_.go_by_runs(1); });
    keys->add({Qt::Key_Left}, tr("Go to the run before"), [this] { session_.go_by_runs(-1); });
    add_range_keys(*keys, {}, tr("Select the op that runs there"));
    tell_gestures(*keys);
    connect(&session_.compare, &CompareController::changed, this, &ComparePicture::show_compared);
    connect(&session_.selection, &Selection::changed, this, &ComparePicture::mark_selection);
    connect(&session_.selection, &Selection::range_changed, this, &ComparePicture::follow_range);
    connect(&session_.selection, &Selection::cursor_moved, this, [this] {
        cursor_b_ = -1;
        update();
    });
}

void ComparePicture::show_compared() {
    compared_ = session_.compare.compared();
    cursor_b_ = -1;
    if (compared_) {
        const LaneAxis axis = natural_axis(compared_->a->simulation);
        a_ = lanes_of(*compared_->a, axis);
        b_ = lanes_of(*compared_->b, axis);
        alone_a_ = bars_alone(a_, compared_->found.in_b);
        alone_b_ = bars_alone(b_, compared_->found.in_a);
    }
    mark_selection();
    follow_range();
}

/// Shows the part of plan A that other views show, and the part of plan B at the same times.
void ComparePicture::follow_range() {
    const StepRange& range = session_.selection.range();
    show_all();
    if (!compared_ || range.all()) return;
    const int next = range.last + 1;
    set_range(a_.begin_of(range.first),
              next < static_cast<int>(a_.step_begin.size()) ? a_.begin_of(next) : a_.length);
}

void ComparePicture::mark_selection() {
    marked_ = session_.graph() ? marked_ops(*session_.graph(), session_.selection.current())
                               : IdVector<OpId, char>();
    update();
}

int ComparePicture::cursor_in_b() const {
    if (cursor_b_ >= 0) return cursor_b_;
    const int cursor = session_.selection.cursor();
    const auto& match = compared_->found.in_b;
    return cursor >= 0 && cursor < static_cast<int>(match.size()) ? match[static_cast<std::size_t>(cursor)]
                                                                  : -1;
}

CompareScene ComparePicture::scene() const {
    const LoadedSchedule &a = *compared_->a, &b = *compared_->b;
    const QString &name_a = compared_->name_a, &name_b = compared_->name_b;
    const int cursor_a = cursor_b_ >= 0 ? compared_->found.in_a[static_cast<std::size_t>(cursor_b_)]
                                        : session_.selection.cursor();
    return {.graph = a.graph->graph,
            .a = {name_a.toStdString(), side_title(name_a, a), a.schedule.steps, a_, alone_a_, cursor_a},
            .b = {name_b.toStdString(), side_title(name_b, b), b.schedule.steps, b_, alone_b_, cursor_in_b()},
            .from = from(),
            .to = to(),
            .rect = {0, 2, static_cast<double>(width()), height() - 2.0},
            .lane_height = height() < low_picture ? 10.0 : 16.0,
            .lane_gap = height() < low_picture ? 2.0 : 3.0,
            .text_size = height() < low_picture ? 10.0 : 11.0,
            .marked = &marked_,
            .paper = theme::paper()};
}

void ComparePicture::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme::base);
    if (!compared_) {
        painter.setPen(theme::muted);
        painter.drawText(rect().adjusted(30, 10, -30, -10), Qt::AlignCenter | Qt::TextWordWrap,
                         session_.schedule() ? tr("Choose a plan to compare with the one that is shown.")
                                             : tr("Show a plan to compare it with another one."));
        return;
    }
    QtCanvas canvas(painter);
    paint_comparison(canvas, scene());
}

void ComparePicture::click(double at, const QMouseEvent& release) {
    const ComparePlaces places = places_of(scene());
    const double y = release.localPos().y();
    const bool in_b = y >= places.b.all.y && y < places.b.all.y + places.b.all.height;
    const int step = (in_b ? b_ : a_).step_at(at);
    if (step < 0) return;
    const LoadedSchedule& side = in_b ? *compared_->b : *compared_->a;
    session_.selection.select(Selected::of(side.schedule.steps[static_cast<std::size_t>(step)].op()));
    const int in_a = in_b ? compared_->found.in_a[static_cast<std::size_t>(step)] : step;
    session_.selection.set_cursor(in_a);
    cursor_b_ = in_b ? step : -1;
    update();
}

}  // namespace rematlas::explorer
