#include "app/explorer/docks/lanes_view.h"

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"
#include "core/schedule/homes.h"
#include "viz/paint/layers_painter.h"

namespace rematlas::explorer {
namespace {

/// If the height of a view with three lanes is below this number of pixels, its lanes are narrow, so that
/// enough height is left for the memory curve.
constexpr int low_view = 250;
constexpr int more_a_lane = 60;  ///< each lane after the third raises `low_view` by this (pixels)

bool inside(const Rect& rect, const QPointF& point) {
    return point.x() >= rect.x && point.x() <= rect.x + rect.width && point.y() >= rect.y &&
           point.y() <= rect.y + rect.height;
}

}  // namespace

LanesView::LanesView(Session& session)
    : RangeView({}, {}),
      session_(session),
      axis_button_(corner_button(tr("Equal widths"),
                                 tr("Draw every run as wide as any other, instead of by its time"))),
      modules_button_(corner_button(tr("By module"), tr("Tell the memory apart by part of the model"))) {
    setMouseTracking(true);
    make_keys();
    modules_button_->setChecked(true);
    connect(modules_button_, &QToolButton::toggled, this, qOverload<>(&QWidget::update));
    connect(axis_button_, &QToolButton::toggled, this,
            [this](bool equal) { set_axis(equal ? LaneAxis::steps : LaneAxis::time); });
    connect(&session_, &Session::schedule_changed, this, &LanesView::show_schedule);
    connect(&session_.budget, &BudgetController::changed, this, qOverload<>(&QWidget::update));
    connect(&session_.selection, &Selection::changed, this, &LanesView::mark_selection);
    connect(&session_.selection, &Selection::cursor_moved, this, qOverload<>(&QWidget::update));
}

QToolButton* LanesView::corner_button(const QString& text, const QString& tip) {
    auto* button = new QToolButton(this);
    button->setCheckable(true);
    button->setText(text);
    QFont small = font();
    small.setPixelSize(11);
    button->setFont(small);
    button->setToolTip(tip);
    button->hide();
    return button;
}

void LanesView::show_schedule() {
    const SchedulePtr& schedule = session_.schedule();
    axis_button_->setVisible(schedule != nullptr);
    modules_button_->setVisible(schedule != nullptr);
    hovered_ = -1;
    stack_ = {};
    resident_ = {};
    if (!schedule) {
        data_ = plain_ = {};
        grouped_.reset();
        session_.selection.set_range({});
        update();
        emit range_changed();
        return;
    }
    if (grouped_ != schedule->graph) {
        grouped_ = schedule->graph;
        groups_ = module_groups(grouped_->graph);
    }
    if (!schedule->simulation.steps.empty()) {
        const Graph& graph = schedule->graph->graph;
        const Schedule& plan = schedule->schedule;
        stack_ = memory_stack(graph, plan.steps, groups_, plan.homes);
        resident_ = always_on_device(graph, plan.steps, plan.homes);
    }
    set_axis(axis_button_->isChecked() ? LaneAxis::steps : natural_axis(schedule->simulation));
}

void LanesView::mark_selection() {
    marked_ = session_.graph() ? marked_ops(*session_.graph(), session_.selection.current())
                               : IdVector<OpId, char>();
    update();
}

void LanesView::set_axis(LaneAxis axis) {
    const SchedulePtr& schedule = session_.schedule();
    if (!schedule) return;
    data_ = lanes_of(*schedule, axis);
    plain_ = lanes_of(*session_.all_kept(), axis);
    reset_range();
}

void LanesView::show_range() {
    publish_range();
    update();
    emit range_changed();
}

/// Tells the other views which steps are shown. The first is the step that runs at the left edge. The last is
/// the last step that begins within the shown part.
void LanesView::publish_range() {
    const auto& begins = data_.step_begin;
    if (shown().is_all() || begins.empty()) return session_.selection.set_range({});
    const auto index = [&](double at) {
        return static_cast<int>(std::upper_bound(begins.begin(), begins.end(), at) - begins.begin()) - 1;
    };
    session_.selection.set_range({std::max(0, data_.step_at(from())), std::max(0, index(to()))});
}

/// Returns the budget to draw. This is the schedule's budget. The step without recomputation has no budget,
/// so the budget of the next solve is drawn for it.
Bytes LanesView::budget_line() const {
    const int row = session_.plans.shown();
    const bool all_kept =
        row != PlanList::none && session_.plans.plan(row).origin == PlanRow::Origin::all_kept;
    if (!all_kept) return session_.schedule()->schedule.budget;
    return session_.budget.valid() ? session_.budget.budget() : Bytes(0);
}

ScheduleScene LanesView::scene() const {
    const LoadedSchedule& schedule = *session_.schedule();
    const bool low = height() < low_view + more_a_lane * (static_cast<int>(data_.lanes.size()) - 3);
    return {.graph = schedule.graph->graph,
            .steps = schedule.schedule.steps,
            .data = data_,
            .plain = &plain_,
            .stack = modules_button_->isChecked() ? &stack_ : nullptr,
            .evicted = &schedule.schedule.evicted,
            .budget = budget_line(),
            .host_budget = schedule.schedule.host_budget,
            .resident = resident_,
            .from = from(),
            .to = to(),
            .rect = {0, 6, static_cast<double>(width()), height() - 6.0},
            .names_width = std::max({96.0, axis_button_->width() + 12.0, modules_button_->width() + 12.0}),
            .corner_height = static_cast<double>(height() - modules_button_->y()),
            .lane_height = low ? 13.0 : 20.0,
            .lane_gap = low ? 2.0 : 4.0,
            .marked = &marked_,
            .cursor = session_.selection.cursor(),
            .hovered = hovered_,
            .paper = theme::paper()};
}

void LanesView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme::base);
    if (data_.bars.empty()) {
        paint_empty(painter);
        return;
    }
    QtCanvas canvas(painter);
    paint_schedule(canvas, scene());
}

void LanesView::paint_empty(QPainter& painter) const {
    painter.setPen(theme::muted);
    QString hint = tr("Open a graph to see its schedule over time.");
    if (session_.graph())
        hint =
            tr("No schedule yet. Solve for a budget, or show the step without recomputation from the Plan "
               "menu.");
    if (session_.schedule())
        hint =
            tr("This schedule cannot be played: %1")
                .arg(session_.schedule()->report.ok() ? QString()
                                                      : text(session_.schedule()->report.violations.front()));
    painter.drawText(rect().adjusted(30, 10, -30, -10), Qt::AlignCenter | Qt::TextWordWrap, hint);
}

/// Returns the tip for a bar of a lane of copies, host runs or waits. Returns an empty text if the lane has
/// no bar at this time.
QString LanesView::tip_beside(DrawnLane lane, double at) const {
    const LoadedSchedule& schedule = *session_.schedule();
    const LaneBar* bar = data_.bar_at(lane, at);
    if (!bar) return {};
    const auto name_of = [&](int step) {
        const Step& of = schedule.schedule.steps[static_cast<std::size_t>(step)];
        return of.names_op() ? numbered_op(*schedule.graph, of.op())
                             : tensor_name(*schedule.graph, of.tensor());
    };
    const QString time = time_text(Nanoseconds(std::llround(bar->end - bar->begin)));
    if (lane == DrawnLane::waiting) {
        if (bar->copy < 0) return tr("waits %1 for a copy that began in the step before").arg(time);
        const Step& of = schedule.schedule.steps[static_cast<std::size_t>(bar->copy)];
        return (of.runs()       ? tr("waits %1 for %2, a collective")
                : of.names_op() ? tr("waits %1 for %2, which runs on the host")
                                : tr("waits %1 for the copy of %2"))
            .arg(time, name_of(bar->copy));
    }
    if (lane == DrawnLane::on_host) {
        const QString runs = tr("%1 runs on the host").arg(name_of(bar->step));
        return data_.axis == LaneAxis::time ? tr("%1 in %2").arg(runs, time) : runs;
    }
    if (lane >= DrawnLane::first_queue) {
        const Op& op = schedule.graph->graph.ops[schedule.schedule.steps[bar->step].op()];
        const QString runs =
            tr("%1 sends %2 to other ranks").arg(name_of(bar->step), bytes_text(op.collective->wire));
        return data_.axis == LaneAxis::time ? tr("%1 in %2").arg(runs, time) : runs;
    }
    const TensorId tensor = schedule.schedule.steps[static_cast<std::size_t>(bar->step)].tensor();
    const QString bytes = bytes_text(schedule.graph->graph.tensors[tensor].bytes);
    const QString tip = lane == DrawnLane::to_host ? tr("%1 goes to the host: %2") : tr("%1 comes back: %2");
    const QString copied = tip.arg(name_of(bar->step), bytes);
    return data_.axis == LaneAxis::time ? tr("%1 in %2").arg(copied, time) : copied;
}

QString LanesView::tip_at(const QPointF& position) const {
    const SchedulePlaces places = this->places();
    for (std::size_t i = 0; i < places.lanes.size(); ++i)
        if (!is_of_runs(data_.lanes[i]) && inside(places.lanes[i], position))
            return tip_beside(data_.lanes[i], at_of(position.x()));
    const int step = data_.step_at(at_of(position.x()));
    if (step < 0 || !inside(plot(), position)) return {};
    const LoadedSchedule& schedule = *session_.schedule();
    const Step& at = schedule.schedule.steps[step];
    const Op& op = schedule.graph->graph.ops[at.op()];
    const StepTrace& trace = schedule.simulation.steps[step];
    QString tip = tr("step %1: %2 (op %3)").arg(step).arg(text(op.name)).arg(at.id);
    if (!op.module.empty()) tip += '\n' + text(op.module);
    tip += tr("\n%1, %2 held while it runs").arg(time_text(op.time), bytes_text(trace.during));
    if (!data_.host.empty()) tip += tr("\n%1 on the host").arg(bytes_text(trace.host));
    return tip;
}

bool LanesView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip && !data_.bars.empty()) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QToolTip::showText(help->globalPos(), tip_at(help->pos()), this);
        return true;
    }
    return QWidget::event(event);
}

void LanesView::mouseMoveEvent(QMouseEvent* event) {
    RangeView::mouseMoveEvent(event);
    if (is_empty() || event->buttons() & Qt::LeftButton) return;
    const QPointF at = event->localPos();
    set_hovered(inside(plot(), at) ? data_.step_at(at_of(at.x())) : -1);
}

void LanesView::leaveEvent(QEvent*) {
    set_hovered(-1);
}

void LanesView::set_hovered(int step) {
    if (step == hovered_) return;
    hovered_ = step;
    update();
}

/// Selects the op of the host run or the collective at the position. Returns false if the position is not in
/// a lane of host runs or of collectives.
bool LanesView::select_beside(const QPointF& position) {
    const SchedulePlaces places = this->places();
    for (std::size_t i = 0; i < places.lanes.size(); ++i) {
        const DrawnLane lane = data_.lanes[i];
        if (lane < DrawnLane::on_host || !inside(places.lanes[i], position)) continue;
        if (const LaneBar* bar = data_.bar_at(lane, at_of(position.x()))) {
            const Step& step = session_.schedule()->schedule.steps[static_cast<std::size_t>(bar->step)];
            session_.selection.select(Selected::of(step.op()));
        }
        return true;
    }
    return false;
}

/// Returns the name of the part of the model whose memory is drawn at the position; empty if there is none.
QString LanesView::band_at(const QPointF& position) const {
    const SchedulePlaces places = this->places();
    const int step = data_.step_at(at_of(position.x()));
    if (!modules_button_->isChecked() || stack_.empty() || step < 0 || !inside(places.memory, position))
        return {};
    const int layer = layer_at(stack_, step, Bytes(std::llround(places.y.value_at(position.y()))));
    return layer < 0 ? QString() : text(layer_name(stack_[static_cast<std::size_t>(layer)]));
}

/// Puts the cursor on the step at the position, and asks for the lifetimes of the band's tensors.
void LanesView::ask_lifetimes(const QPointF& position, const QString& band) {
    session_.selection.set_cursor(data_.step_at(at_of(position.x())));
    session_.selection.ask_lifetimes({.part = band});
}

void LanesView::contextMenuEvent(QContextMenuEvent* event) {
    if (data_.bars.empty()) return;
    const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
    const QPointF position = by_key ? QPointF(places().x.at(middle()), plot().y) : QPointF(event->pos());
    const QString band = band_at(position);
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (!band.isEmpty())
        menu->addAction(tr("Lifetimes of what %1 holds here").arg(band), this,
                        [this, position, band] { ask_lifetimes(position, band); });
    menu->addAction(tr("Lifetimes of all that is held here"), this,
                    [this, position] { ask_lifetimes(position, {}); });
    menu->popup(by_key ? mapToGlobal(position.toPoint()) : event->globalPos());
}

void LanesView::click(double at, const QMouseEvent& release) {
    if (const QString band = band_at(release.localPos());
        release.modifiers() & Qt::ControlModifier && !band.isEmpty())
        return ask_lifetimes(release.localPos(), band);
    if (select_beside(release.localPos())) return;
    const int step = data_.step_at(at);
    if (step < 0) return;
    session_.selection.select(Selected::of(session_.schedule()->schedule.steps[step].op()));
    session_.selection.set_cursor(step);
}

void LanesView::make_keys() {
    auto* keys = new ViewKeys(*this, tr("Schedule"));
    keys->add({Qt::Key_Right}, tr("Go to the next run"), [this] { go_by_runs(1); });
    keys->add({Qt::Key_Left}, tr("Go to the run before"), [this] { go_by_runs(-1); });
    add_range_keys(
        *keys, [this] { return middle(); }, tr("Put the cursor there and select the op"));
    keys->tell(tr("Ctrl and click on a band of the memory"), tr("Show the lifetimes of its tensors"));
    tell_gestures(*keys);
}

void LanesView::go_by_runs(int direction) {
    if (data_.bars.empty()) return;
    session_.go_by_runs(direction);
    bring_into_sight(data_.begin_of(session_.selection.cursor()));
}

/// Returns the value of the axis that keeps its place when a key zooms: the value at the cursor if the cursor
/// is shown, else the middle of the shown range.
double LanesView::middle() const {
    const double cursor = data_.begin_of(session_.selection.cursor());
    const bool seen = session_.selection.cursor() >= 0 && shown().contains(cursor);
    return seen ? cursor : (from() + to()) / 2;
}

void LanesView::resizeEvent(QResizeEvent*) {
    // The buttons are in the corner below the names, to the left of the axis.
    int bottom = height() - 2;
    for (QToolButton* button : {axis_button_, modules_button_}) {
        button->adjustSize();
        bottom -= button->height();
        button->move(6, bottom);
        bottom -= 2;
    }
}

}  // namespace rematlas::explorer
