#include "app/explorer/docks/flame_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/look/view_keys.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

constexpr double lowest_row = 14, highest_row = 24;  ///< limits of a row's height, in pixels
/// One press of a key zooms by the factor `zoom_step`, or moves the picture by `pan_step` times the length of
/// the shown range.
constexpr double zoom_step = 0.8, pan_step = 0.15;

}  // namespace

FlameView::FlameView(Session& session) : session_(session) {
    setObjectName("flame_view");
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::StrongFocus);
    viewport()->setMouseTracking(true);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    make_keys();
    theme::on_change(this, [this] { viewport()->update(); });
    connect(verticalScrollBar(), &QScrollBar::valueChanged, viewport(), qOverload<>(&QWidget::update));
    connect(&session_, &Session::graph_changed, this, &FlameView::show_step);
    connect(&session_, &Session::blocks_changed, this, &FlameView::show_step);
    connect(&session_, &Session::schedule_changed, this, &FlameView::show_step);
    connect(&session_.selection, &Selection::changed, this, &FlameView::follow_selection);
    connect(&session_.selection, &Selection::cursor_moved, viewport(), qOverload<>(&QWidget::update));
    connect(&session_.selection, &Selection::range_changed, this, &FlameView::follow_range);
    show_step();
}

void FlameView::make_keys() {
    auto* keys = new ViewKeys(*this, tr("Flame chart"));
    keys->add({Qt::Key_W, Qt::Key_Plus}, tr("Zoom in"), [this] { zoom_at(zoom_middle(), zoom_step); });
    keys->add({Qt::Key_S, Qt::Key_Minus}, tr("Zoom out"), [this] { zoom_at(zoom_middle(), 1 / zoom_step); });
    keys->add({Qt::Key_A}, tr("Move to what is before"), [this] { pan(-pan_step); });
    keys->add({Qt::Key_D}, tr("Move to what comes after"), [this] { pan(pan_step); });
    keys->add({Qt::Key_Right}, tr("Go to the next box of the row"), [this] { walk(1, 0); });
    keys->add({Qt::Key_Left}, tr("Go to the box before"), [this] { walk(-1, 0); });
    keys->add({Qt::Key_Up}, tr("Go to the box above"), [this] { walk(0, -1); });
    keys->add({Qt::Key_Down}, tr("Go to the first box inside"), [this] { walk(0, 1); });
    keys->add({Qt::Key_Return}, tr("Select the op or the block"), [this] { choose(focused_); });
    keys->add({QKeySequence("Shift+Return")}, tr("Zoom to the box"), [this] { zoom_to(focused_); });
    keys->add({QKeySequence("Shift+Right")}, tr("Sum up the boxes up to the next one"),
              [this] { walk_span(1); });
    keys->add({QKeySequence("Shift+Left")}, tr("Sum up the boxes up to the one before"),
              [this] { walk_span(-1); });
    keys->add({Qt::Key_Home, Qt::Key_Space}, tr("Show all"), [this] { show_all(); });
    keys->add({Qt::Key_Escape}, tr("Show all and sum up nothing; then select nothing"), [this] { leave(); });
    keys->tell(tr("Click"), tr("Select the op or the block"));
    keys->tell(tr("Wheel"), tr("Zoom"));
    keys->tell(tr("Drag"), tr("Move the picture"));
    keys->tell(tr("Drag on the ruler, or with Shift"), tr("Sum up what lies there"));
    keys->tell(tr("Double click"), tr("Zoom to the box; beside the boxes show all"));
}

void FlameView::show_step() {
    const SchedulePtr& shown = session_.schedule() ? session_.schedule() : session_.all_kept();
    if (chart_ && chart_->schedule == shown) return;
    chart_ = flame_chart(shown);
    focused_ = hovered_ = anchor_ = -1;
    span_.reset();
    shown_.show_all(chart_ ? chart_->data.length : 1);
    fit_rows();
    follow_range();
    emit chart_changed();
    emit span_changed();
    follow_selection();
}

/// Shows the part of the schedule that other views show.
void FlameView::follow_range() {
    if (!chart_) return;
    const StepRange& range = session_.selection.range();
    shown_.show_all(chart_->data.length);
    const std::vector<double>& begin = chart_->data.step_begin;
    const auto next = static_cast<std::size_t>(range.last + 1);
    if (!range.all() && chart_->schedule == session_.schedule() && next <= begin.size())
        shown_.set(begin[static_cast<std::size_t>(range.first)],
                   next < begin.size() ? begin[next] : chart_->data.length);
    viewport()->update();
}

void FlameView::follow_selection() {
    const Selected& selected = session_.selection.current();
    marked_ = chart_ ? marked_ops(*chart_->schedule->graph, selected) : IdVector<OpId, char>();
    if (chart_ && (focused_ < 0 || selected_of(*chart_, focused_) != selected))
        set_focused(box_of(*chart_, selected, session_.selection.cursor()));
    viewport()->update();
}

double FlameView::row_height() const {
    const double room = viewport()->height() - flame_height(0, 0);
    const std::size_t levels = chart_ ? std::max<std::size_t>(1, chart_->data.levels.size()) : 1;
    return std::clamp(std::floor(room / static_cast<double>(levels)), lowest_row, highest_row);
}

/// Sets the range of the scroll bar, so that rows below the view's lower edge can be reached.
void FlameView::fit_rows() {
    const double room = viewport()->height() - flame_height(0, 0);
    const int levels = chart_ ? static_cast<int>(chart_->data.levels.size()) : 0;
    const int rows = std::max(1, static_cast<int>(room / row_height()));
    verticalScrollBar()->setPageStep(rows);
    verticalScrollBar()->setRange(0, std::max(0, levels - rows));
    viewport()->update();
}

FlameScene FlameView::scene() const {
    std::optional<std::pair<double, double>> span;
    if (span_) span = {chart_->data.run(span_->first).begin, chart_->data.run(span_->second).end};
    return {
        .graph = chart_->schedule->graph->graph,
        .data = chart_->data,
        .from = shown_.from(),
        .to = shown_.to(),
        .first_level = verticalScrollBar()->value(),
        .rect = {0, 0, static_cast<double>(viewport()->width()), static_cast<double>(viewport()->height())},
        .row_height = row_height(),
        .span = span,
        .marked = &marked_,
        .cursor = chart_->schedule == session_.schedule() ? session_.selection.cursor() : -1,
        .hovered = hovered_,
        .focused = focused_,
        .paper = theme::paper()};
}

void FlameView::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    painter.fillRect(viewport()->rect(), theme::base);
    if (!chart_) {
        painter.setPen(theme::muted);
        painter.drawText(viewport()->rect().adjusted(30, 10, -30, -10), Qt::AlignCenter | Qt::TextWordWrap,
                         session_.graph() ? tr("This schedule cannot be played.")
                                          : tr("Open a graph to see its ops over time, by module."));
        return;
    }
    QtCanvas canvas(painter);
    paint_flame(canvas, scene());
}

double FlameView::at_of(double x) const {
    const Rect rows = places_of(scene()).rows;
    return shown_.at(x, rows.x, rows.width);
}

int FlameView::box_under(const QPointF& position) const {
    return chart_ ? box_at(scene(), {position.x(), position.y()}) : -1;
}

QString FlameView::tip_at(const QPointF& position) const {
    const int box = box_under(position);
    return box < 0 ? QString() : box_tip(*chart_, box);
}

bool FlameView::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QToolTip::showText(help->globalPos(), tip_at(help->pos()), viewport());
        return true;
    }
    if (event->type() == QEvent::Leave) {
        pointer_.reset();
        set_hovered(-1);
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void FlameView::set_hovered(int box) {
    if (box == hovered_) return;
    hovered_ = box;
    viewport()->update();
}

void FlameView::wheelEvent(QWheelEvent* event) {
    if (!chart_) return;
    zoom_at(at_of(event->position().x()), wheel_factor(event->angleDelta().y()));
    event->accept();
}

void FlameView::mousePressEvent(QMouseEvent* event) {
    if (!chart_ || event->button() != Qt::LeftButton) return;
    press_ = event->localPos();
    dragged_ = false;
    press_level_ = verticalScrollBar()->value();
    shown_.press(press_.x());
    const Rect ruler = places_of(scene()).ruler;
    const bool on_ruler = press_.y() <= ruler.y + ruler.height;
    grip_ = on_ruler || event->modifiers() & Qt::ShiftModifier ? Grip::span : Grip::pan;
}

void FlameView::mouseMoveEvent(QMouseEvent* event) {
    if (!chart_) return;
    pointer_ = event->localPos();
    if (event->buttons() & Qt::LeftButton)
        drag_to(event->localPos());
    else
        set_hovered(box_under(event->localPos()));
}

void FlameView::drag_to(const QPointF& position) {
    dragged_ = dragged_ || (position - press_).manhattanLength() >= click_reach;
    if (!dragged_) return;
    if (grip_ == Grip::span) {
        const double from = at_of(press_.x()), at = at_of(position.x());
        const std::pair<int, int> runs = chart_->data.runs_between(std::min(from, at), std::max(from, at));
        anchor_ = -1;
        if (runs.first >= 0) set_span(runs);
    } else if (grip_ == Grip::pan) {
        shown_.drag(position.x(), places_of(scene()).rows.width);
        const double rows = (press_.y() - position.y()) / row_height();
        verticalScrollBar()->setValue(press_level_ + static_cast<int>(std::lround(rows)));
        viewport()->update();
    }
}

void FlameView::mouseReleaseEvent(QMouseEvent* event) {
    const Grip grip = std::exchange(grip_, Grip::none);
    if (!chart_ || grip == Grip::none || event->button() != Qt::LeftButton) return;
    if (!dragged_) click(event->localPos(), grip == Grip::span);
}

void FlameView::click(const QPointF& position, bool with_shift) {
    const int box = box_under(position);
    if (!with_shift) return choose(box);
    anchor_ = box;
    if (box < 0) return set_span({});
    set_focused(box);
    set_span(std::pair(chart_->data.box(box).first, chart_->data.box(box).last));
}

void FlameView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (!chart_ || event->button() != Qt::LeftButton) return;
    const int box = box_under(event->localPos());
    if (box >= 0)
        zoom_to(box);
    else
        show_all();
}

void FlameView::resizeEvent(QResizeEvent*) {
    fit_rows();
}

void FlameView::choose(int box) {
    if (!chart_ || box < 0) return;
    set_focused(box);
    const Selected selected = selected_of(*chart_, box);
    if (selected.empty()) return;
    session_.selection.select(selected);
    if (selected.op.valid() && chart_->schedule == session_.schedule())
        session_.selection.set_cursor(chart_->data.run(chart_->data.box(box).first).step);
}

void FlameView::zoom_to(int box) {
    if (!chart_ || box < 0) return;
    const FlameBox& of = chart_->data.box(box);
    shown_.set(chart_->data.begin_of(of), chart_->data.end_of(of));
    verticalScrollBar()->setValue(of.level);
    set_focused(box);
    viewport()->update();
}

void FlameView::show_all() {
    if (!chart_) return;
    shown_.show_all(chart_->data.length);
    verticalScrollBar()->setValue(0);
    viewport()->update();
}

/// Shows the whole step and clears the span. If the whole step is already shown without a span, clears the
/// selection.
void FlameView::leave() {
    if (shown_.is_all() && !span_) return session_.selection.clear();
    set_span({});
    show_all();
}

void FlameView::zoom_at(double at, double factor) {
    if (!chart_) return;
    shown_.zoom(at, factor);
    viewport()->update();
}

void FlameView::pan(double share) {
    const double by = share * shown_.span();
    shown_.set(shown_.from() + by, shown_.to() + by);
    viewport()->update();
}

/// Returns the value of the axis that keeps its place when a key zooms: the value under the pointer if the
/// pointer is over the view, else the middle of the shown range.
double FlameView::zoom_middle() const {
    return chart_ && pointer_ ? at_of(pointer_->x()) : (shown_.from() + shown_.to()) / 2;
}

void FlameView::set_focused(int box) {
    if (box == focused_) return;
    focused_ = box;
    viewport()->update();
    emit focus_moved(box);
}

void FlameView::show_level(int level) {
    QScrollBar& rows = *verticalScrollBar();
    if (level < rows.value()) rows.setValue(level);
    if (level >= rows.value() + rows.pageStep()) rows.setValue(level - rows.pageStep() + 1);
}

void FlameView::walk(int sideways, int down) {
    if (!chart_ || chart_->data.boxes.empty()) return;
    const FlameData& data = chart_->data;
    int next = focused_;
    if (focused_ < 0) {
        next = std::max(0, data.box_at(0, (shown_.from() + shown_.to()) / 2));
    } else if (down != 0) {
        const std::vector<int> inside = data.boxes_in(focused_);
        const FlameBox& now = data.box(focused_);
        if (down < 0) next = now.parent < 0 ? data.box_above_host(now) : now.parent;
        if (down > 0) next = inside.empty() ? data.box_of_host_below(now) : inside.front();
    } else {
        const auto& row = data.levels[static_cast<std::size_t>(data.box(focused_).level)];
        const auto at = std::lower_bound(row.begin(), row.end(), focused_) - row.begin() + sideways;
        next = at < 0 || at >= std::ssize(row) ? -1 : row[static_cast<std::size_t>(at)];
    }
    if (next < 0) return;
    set_focused(next);
    const FlameBox& box = data.box(next);
    show_level(box.level);
    const double begin = data.begin_of(box), end = data.end_of(box), half = shown_.span() / 2;
    if (end <= shown_.from() || begin >= shown_.to())
        shown_.set((begin + end) / 2 - half, (begin + end) / 2 + half);
}

void FlameView::walk_span(int sideways) {
    if (!chart_ || chart_->data.boxes.empty()) return;
    if (anchor_ < 0 || !span_) {
        if (focused_ < 0) walk(0, 0);
        anchor_ = focused_;
    } else {
        walk(sideways, 0);
    }
    const FlameBox &one = chart_->data.box(anchor_), &other = chart_->data.box(focused_);
    if (chart_->data.is_of_host(one) != chart_->data.is_of_host(other)) return;
    set_span(std::pair(std::min(one.first, other.first), std::max(one.last, other.last)));
}

void FlameView::set_span(std::optional<std::pair<int, int>> span) {
    if (span == span_) return;
    span_ = span;
    viewport()->update();
    emit span_changed();
}

QString FlameView::sums() const {
    if (!chart_ || chart_->data.runs.empty()) return {};
    const FlameData& data = chart_->data;
    if (span_) return tr("Chosen: %1").arg(sums_text(*chart_, data.sums(span_->first, span_->second)));
    const FlameSums on_host = data.host_sums();
    const QString host =
        on_host.runs > 0 ? tr("; on the host %1 runs of %2").arg(on_host.runs).arg(time_text(on_host.time))
                         : QString();
    return tr("The step: %1. Drag on the ruler to sum up a part.")
        .arg(sums_text(*chart_, data.device_sums()) + host);
}

}  // namespace rematlas::explorer
