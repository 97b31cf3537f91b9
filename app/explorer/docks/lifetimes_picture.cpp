#include "app/explorer/docks/lifetimes_picture.h"

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
#include "app/explorer/models/lifetime_rows.h"

namespace rematlas::explorer {
namespace {

constexpr double bar_row = 20;  ///< height in pixels
constexpr double least_names = 150, most_names = 330, names_share = 0.42;

}  // namespace

LifetimesPicture::LifetimesPicture(Session& session) : session_(session) {
    setObjectName("lifetimes_picture");
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::StrongFocus);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    verticalScrollBar()->setSingleStep(static_cast<int>(bar_row));
    make_keys();
    theme::on_change(this, [this] { viewport()->update(); });
    connect(verticalScrollBar(), &QScrollBar::valueChanged, viewport(), qOverload<>(&QWidget::update));
    connect(&session_.selection, &Selection::changed, this, &LifetimesPicture::follow_selection);
}

void LifetimesPicture::make_keys() {
    auto* keys = new ViewKeys(*this, tr("Lifetimes"));
    keys->add({Qt::Key_Down}, tr("Go to the tensor below"), [this] { walk(1); });
    keys->add({Qt::Key_Up}, tr("Go to the tensor above"), [this] { walk(-1); });
    keys->add({Qt::Key_Right}, tr("Put the cursor on the next use of the tensor"), [this] { go_by_uses(1); });
    keys->add({Qt::Key_Left}, tr("Put the cursor on the use before"), [this] { go_by_uses(-1); });
    keys->add({Qt::Key_Return}, tr("Select the op that makes the tensor"), [this] { select_maker(); });
    keys->add({Qt::Key_W, Qt::Key_Plus}, tr("Zoom in"), [this] { zoom(0.8); });
    keys->add({Qt::Key_S, Qt::Key_Minus}, tr("Zoom out"), [this] { zoom(1.25); });
    keys->add({Qt::Key_A}, tr("Move to what is before"), [this] { pan(-0.15); });
    keys->add({Qt::Key_D}, tr("Move to what comes after"), [this] { pan(0.15); });
    keys->add({Qt::Key_Home, Qt::Key_Space}, tr("Show all"), [this] { show_all(); });
    keys->tell(tr("Click on a mark"), tr("Put the cursor on that step"));
    keys->tell(tr("Click on a bar"), tr("Select the op that makes the tensor"));
    keys->tell(tr("Wheel"), tr("Scroll"));
    keys->tell(tr("Ctrl and wheel"), tr("Zoom"));
    keys->tell(tr("Drag"), tr("Move the picture"));
    keys->tell(tr("Double click"), tr("Show all"));
}

void LifetimesPicture::set_bars(const LifetimeBars& bars) {
    const TensorId stays = current_ >= 0 ? bars_.bars[static_cast<std::size_t>(current_)].tensor : TensorId();
    const bool same_axis = !is_empty() && bars.spans.length == bars_.spans.length;
    bars_ = bars;
    current_ = -1;
    if (!same_axis) shown_.show_all(bars_.spans.length);
    fit_rows();
    for (std::size_t i = 0; i < bars_.bars.size() && stays.valid(); ++i)
        if (bars_.bars[i].tensor == stays) current_ = static_cast<int>(i);
    emit current_moved(current_);
}

void LifetimesPicture::set_current(int bar) {
    if (bar == current_) return;
    current_ = bar;
    viewport()->update();
    emit current_moved(bar);
}

void LifetimesPicture::show_tensor(TensorId tensor) {
    const auto found = std::find_if(bars_.bars.begin(), bars_.bars.end(),
                                    [&](const LifetimeBar& bar) { return bar.tensor == tensor; });
    if (!tensor.valid() || found == bars_.bars.end()) return;
    set_current(static_cast<int>(found - bars_.bars.begin()));
    const double middle = (current_ + 0.5) * bar_row - verticalScrollBar()->pageStep() / 2.0;
    verticalScrollBar()->setValue(static_cast<int>(middle));
}

/// Highlights the bar of a tensor that the selected op made. Changes nothing if there is no such bar.
void LifetimesPicture::follow_selection() {
    const OpId op = session_.selection.current().op;
    const auto is_of_op = [&](const LifetimeBar& bar) { return op.valid() && bar.maker == op; };
    if (current_ >= 0 && is_of_op(bars_.bars[static_cast<std::size_t>(current_)])) return;
    const auto found = std::find_if(bars_.bars.begin(), bars_.bars.end(), is_of_op);
    if (found != bars_.bars.end()) set_current(static_cast<int>(found - bars_.bars.begin()));
}

LifetimesScene LifetimesPicture::scene() const {
    const double width = viewport()->width();
    return {.data = bars_,
            .from = shown_.from(),
            .to = shown_.to(),
            .scroll = static_cast<double>(verticalScrollBar()->value()),
            .rect = {0, 0, width, static_cast<double>(viewport()->height())},
            .names_width = std::clamp(width * names_share, least_names, most_names),
            .row_height = bar_row,
            .current = current_,
            .paper = theme::paper()};
}

void LifetimesPicture::fit_rows() {
    const int room = static_cast<int>(places_of(scene()).rows.height);
    verticalScrollBar()->setPageStep(room);
    verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(rows_height(bars_, bar_row)) - room));
    viewport()->update();
}

void LifetimesPicture::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    painter.fillRect(viewport()->rect(), theme::base);
    if (is_empty()) {
        painter.setPen(theme::muted);
        painter.drawText(
            viewport()->rect().adjusted(30, 10, -30, -10), Qt::AlignCenter | Qt::TextWordWrap,
            tr("What a schedule holds in memory appears here, each tensor from its making to its "
               "end."));
        return;
    }
    QtCanvas canvas(painter);
    paint_lifetimes(canvas, scene());
}

QString LifetimesPicture::tip_at(const QPointF& position) const {
    const int bar = is_empty() ? -1 : bar_at(scene(), {position.x(), position.y()});
    return bar < 0 ? QString() : bar_tip(*session_.schedule(), bars_, bar);
}

bool LifetimesPicture::viewportEvent(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QAbstractScrollArea::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), tip_at(help->pos()), viewport());
    return true;
}

void LifetimesPicture::wheelEvent(QWheelEvent* event) {
    if (is_empty() || !(event->modifiers() & Qt::ControlModifier))
        return QAbstractScrollArea::wheelEvent(event);
    shown_.zoom(places_of(scene()).x.value_at(event->position().x()), wheel_factor(event->angleDelta().y()));
    viewport()->update();
    event->accept();
}

void LifetimesPicture::mousePressEvent(QMouseEvent* event) {
    if (is_empty() || event->button() != Qt::LeftButton) return;
    pressed_ = true;
    dragged_ = false;
    press_ = event->localPos();
    press_scroll_ = verticalScrollBar()->value();
    shown_.press(press_.x());
}

void LifetimesPicture::mouseMoveEvent(QMouseEvent* event) {
    if (!pressed_ || !(event->buttons() & Qt::LeftButton)) return;
    const QPointF moved = event->localPos() - press_;
    dragged_ = dragged_ || moved.manhattanLength() >= click_reach;
    if (!dragged_) return;
    shown_.drag(event->localPos().x(), places_of(scene()).rows.width);
    verticalScrollBar()->setValue(press_scroll_ - static_cast<int>(std::lround(moved.y())));
    viewport()->update();
}

void LifetimesPicture::mouseReleaseEvent(QMouseEvent* event) {
    if (!std::exchange(pressed_, false) || dragged_ || is_empty()) return;
    const Point at{event->localPos().x(), event->localPos().y()};
    const int bar = bar_at(scene(), at), step = mark_at(scene(), at);
    if (bar < 0) return;
    set_current(bar);
    if (step >= 0)
        go_to_step(step);
    else
        select_maker();
}

void LifetimesPicture::mouseDoubleClickEvent(QMouseEvent*) {
    show_all();
}

void LifetimesPicture::resizeEvent(QResizeEvent*) {
    fit_rows();
}

void LifetimesPicture::select_maker() {
    if (current_ < 0) return;
    const OpId maker = bars_.bars[static_cast<std::size_t>(current_)].maker;
    if (maker.valid()) session_.selection.select(Selected::of(maker));
}

/// Moves the cursor to a step, or to the next run if the step is a copy back to the device. The cursor can
/// only be at a run.
void LifetimesPicture::go_to_step(int step) {
    const std::vector<Step>& steps = session_.schedule()->schedule.steps;
    int run = step;
    while (run + 1 < static_cast<int>(steps.size()) && !steps[static_cast<std::size_t>(run)].runs()) ++run;
    session_.selection.set_cursor(run);
}

void LifetimesPicture::go_by_uses(int direction) {
    if (is_empty()) return;
    if (current_ < 0) return session_.go_by_runs(direction);
    const LifetimeBar& bar = bars_.bars[static_cast<std::size_t>(current_)];
    std::vector<int> uses = bar.reads;
    if (bar.made >= 0) uses.insert(uses.begin(), bar.made);
    const auto next = direction > 0 ? std::upper_bound(uses.begin(), uses.end(), bars_.step)
                                    : std::lower_bound(uses.begin(), uses.end(), bars_.step);
    if (direction > 0 ? next == uses.end() : next == uses.begin()) return;
    go_to_step(direction > 0 ? *next : *std::prev(next));
}

void LifetimesPicture::walk(int direction) {
    if (bars_.bars.empty()) return;
    const int last = static_cast<int>(bars_.bars.size()) - 1;
    set_current(current_ < 0 ? 0 : std::clamp(current_ + direction, 0, last));
    const int top = static_cast<int>(current_ * bar_row), bottom = top + static_cast<int>(bar_row);
    QScrollBar& rows = *verticalScrollBar();
    if (top < rows.value()) rows.setValue(top);
    if (bottom > rows.value() + rows.pageStep()) rows.setValue(bottom - rows.pageStep());
}

void LifetimesPicture::show_all() {
    shown_.show_all(bars_.spans.length);
    viewport()->update();
}

/// Zooms. The cursor stays in place if it is shown, else the middle of the picture does.
void LifetimesPicture::zoom(double factor) {
    if (is_empty()) return;
    const double cursor = bars_.spans.middle(bars_.step);
    shown_.zoom(shown_.contains(cursor) ? cursor : (shown_.from() + shown_.to()) / 2, factor);
    viewport()->update();
}

void LifetimesPicture::pan(double share) {
    const double by = share * shown_.span();
    shown_.set(shown_.from() + by, shown_.to() + by);
    viewport()->update();
}

}  // namespace rematlas::explorer
