#include "app/explorer/docks/lanes_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "app/explorer/look/theme.h"
#include "app/explorer/session/wording.h"

namespace rematlas::explorer {
namespace {

constexpr double names_width = 96, right_room = 14, top_room = 10, axis_height = 24, lane_height = 20,
                 lane_gap = 4;

QString lane_name(Lane lane) {
    switch (lane) {
        case Lane::forward:
            return LanesView::tr("forward");
        case Lane::recompute:
            return LanesView::tr("recompute");
        case Lane::backward:
            return LanesView::tr("backward");
        case Lane::to_host:
            return LanesView::tr("to host");
        case Lane::to_device:
            break;
    }
    return LanesView::tr("to device");
}

QColor bar_color(const LaneBar& bar) {
    if (bar.lane == Lane::recompute) return theme::of(Decision::recompute);
    if (bar.lane == Lane::to_host || bar.lane == Lane::to_device) return theme::of(Decision::offload);
    return theme::of(bar.phase);
}

/// A round step of the axis such that about `count` of them fit.
double round_step(double span, int count) {
    const double raw = span / std::max(1, count);
    const double power = std::pow(10.0, std::floor(std::log10(std::max(raw, 1e-9))));
    for (double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= raw) return factor * power;
    }
    return 10 * power;
}

}  // namespace

LanesView::LanesView(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), axis_button_(new QToolButton(this)) {
    setMouseTracking(true);
    setFocusPolicy(Qt::ClickFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    axis_button_->setCheckable(true);
    axis_button_->setText(tr("Equal widths"));
    axis_button_->setFont(frame_font());
    axis_button_->setToolTip(tr("Draw every run as wide as any other, instead of by its time"));
    axis_button_->hide();
    connect(axis_button_, &QToolButton::toggled, this,
            [this](bool equal) { set_axis(equal ? LaneAxis::steps : LaneAxis::time); });
    connect(&session_, &Session::schedule_changed, this, &LanesView::show_schedule);
    connect(&session_.budget, &BudgetController::changed, this, qOverload<>(&QWidget::update));
    connect(&session_.selection, &Selection::changed, this, &LanesView::mark_selection);
    connect(&session_.selection, &Selection::cursor_moved, this, qOverload<>(&QWidget::update));
}

void LanesView::show_schedule() {
    const SchedulePtr& schedule = session_.schedule();
    axis_button_->setVisible(schedule != nullptr);
    if (!schedule) {
        data_ = {};
        update();
        return;
    }
    const LaneAxis axis = axis_button_->isChecked() ? LaneAxis::steps : natural_axis(*schedule);
    data_ = lane_data(*schedule, axis);
    show_all();
}

void LanesView::mark_selection() {
    const Selected& selected = session_.selection.current();
    marked_ = {};
    if (session_.graph() && !selected.empty()) {
        marked_.resize(session_.graph()->graph.ops.size());
        if (selected.op.valid()) {
            marked_[selected.op] = 1;
        } else {
            for (OpId op : ops_under(*session_.graph(), selected.block)) marked_[op] = 1;
        }
    }
    update();
}

void LanesView::set_axis(LaneAxis axis) {
    if (!session_.schedule()) return;
    data_ = lane_data(*session_.schedule(), axis);
    show_all();
}

void LanesView::show_all() {
    set_range(0, std::max(data_.length, 1e-6));
}

void LanesView::set_range(double from, double to) {
    const double length = std::max(data_.length, 1e-6);
    const double span = std::clamp(to - from, length / 1e5, length);
    from_ = std::clamp(from, 0.0, length - span);
    to_ = from_ + span;
    update();
}

std::vector<Lane> LanesView::rows() const {
    std::vector<Lane> rows{Lane::forward, Lane::recompute, Lane::backward};
    if (data_.copies) rows.insert(rows.end(), {Lane::to_host, Lane::to_device});
    return rows;
}

QRectF LanesView::plot() const {
    return QRectF(rect()).adjusted(names_width, top_room, -right_room, -axis_height);
}

QRectF LanesView::lane_rect(int row) const {
    const QRectF area = plot();
    return {area.left(), area.top() + row * (lane_height + lane_gap), area.width(), lane_height};
}

QRectF LanesView::memory_rect() const {
    QRectF area = plot();
    area.setTop(area.top() + static_cast<double>(rows().size()) * (lane_height + lane_gap) + 10);
    return area;
}

double LanesView::x_of(double at) const {
    const QRectF area = plot();
    return area.left() + (at - from_) / (to_ - from_) * area.width();
}

double LanesView::at_of(double x) const {
    const QRectF area = plot();
    return from_ + (x - area.left()) / std::max(1.0, area.width()) * (to_ - from_);
}

double LanesView::y_of(std::int64_t bytes) const {
    const QRectF area = memory_rect();
    return area.bottom() - static_cast<double>(bytes) / static_cast<double>(top_) * area.height();
}

void LanesView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme::base);
    painter.setRenderHint(QPainter::Antialiasing);
    if (data_.bars.empty()) {
        paint_empty(painter);
        return;
    }
    const std::int64_t full = session_.graph() ? session_.graph()->full_peak.value : 0;
    top_ = static_cast<std::int64_t>(
        1.08 * static_cast<double>(std::max(
                   {data_.peak, full, session_.schedule()->schedule.budget.value, std::int64_t{1}})));
    paint_lanes(painter);
    paint_memory(painter);
    paint_axis(painter);
    paint_cursor(painter);
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

void LanesView::paint_lanes(QPainter& painter) const {
    const std::vector<Lane> lanes = rows();
    for (std::size_t row = 0; row < lanes.size(); ++row) {
        const QRectF rect = lane_rect(static_cast<int>(row));
        painter.setPen(theme::muted);
        painter.drawText(QRectF(12, rect.top(), names_width - 20, rect.height()),
                         Qt::AlignVCenter | Qt::AlignLeft, lane_name(lanes[row]));
        painter.fillRect(rect, QColor(0xf4, 0xf6, 0xf9));
        painter.save();
        painter.setClipRect(rect);
        paint_bars(painter, lanes[row], rect);
        painter.restore();
    }
}

void LanesView::paint_bars(QPainter& painter, Lane lane, const QRectF& rect) const {
    // Bars narrower than a pixel are joined, so that painting costs pixels and not steps.
    const SchedulePtr& schedule = session_.schedule();
    painter.setRenderHint(QPainter::Antialiasing, false);
    double joined_to = -1;
    auto first = std::lower_bound(data_.bars.begin(), data_.bars.end(), from_,
                                  [](const LaneBar& bar, double at) { return bar.end < at; });
    for (auto bar = first; bar != data_.bars.end() && bar->begin <= to_; ++bar) {
        if (bar->lane != lane) continue;
        const double left = x_of(bar->begin), right = std::max(x_of(bar->end), left + 1);
        const Step& step = schedule->schedule.steps[bar->step];
        const bool marked = step.runs() && marked_.contains(step.op()) && marked_[step.op()];
        if (right <= joined_to && !marked) continue;
        const QRectF box(left, rect.top() + 1, right - left, rect.height() - 2);
        painter.fillRect(box, bar_color(*bar));
        joined_to = std::max(joined_to, right);
        if (right - left > 3)
            painter.fillRect(QRectF(right - 1, box.top(), 1, box.height()), QColor(255, 255, 255, 140));
        if (marked)
            painter.fillRect(box.adjusted(right - left < 4 ? -1 : 0, 0, right - left < 4 ? 1 : 0, 0),
                             theme::highlight);
        if (right - left > 60 && step.runs()) paint_bar_label(painter, box, step.op());
    }
    painter.setRenderHint(QPainter::Antialiasing);
}

void LanesView::paint_bar_label(QPainter& painter, const QRectF& box, OpId op) const {
    const bool marked = marked_.contains(op) && marked_[op];
    painter.setPen(marked ? theme::ink : theme::base);
    const QString name = short_op_name(session_.graph()->graph.ops[op]);
    painter.drawText(
        box.adjusted(5, 0, -5, 0), Qt::AlignVCenter | Qt::AlignLeft,
        painter.fontMetrics().elidedText(name, Qt::ElideRight, static_cast<int>(box.width()) - 10));
}

void LanesView::paint_memory(QPainter& painter) const {
    const QRectF rect = memory_rect();
    painter.setPen(theme::muted);
    painter.drawText(QRectF(12, rect.top(), names_width - 20, lane_height), Qt::AlignTop | Qt::AlignLeft,
                     tr("memory"));
    painter.fillRect(rect, QColor(0xfb, 0xfc, 0xfd));
    // Round numbers of the binary unit in use.
    double unit = 1;
    while (static_cast<double>(top_) / unit >= 2048) unit *= 1024;
    const double round =
        round_step(static_cast<double>(top_) / unit, std::max(2, static_cast<int>(rect.height() / 36))) *
        unit;
    for (double at = round; at < static_cast<double>(top_); at += round) {
        const double y = y_of(static_cast<std::int64_t>(at));
        if (y < rect.top() + 8) break;
        painter.setPen(QPen(QColor(0xe8, 0xec, 0xf1), 1));
        painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right(), y));
        painter.setPen(theme::faint);
        if (y > rect.top() + 26) {
            painter.drawText(QRectF(0, y - 9, names_width - 8, 18), Qt::AlignVCenter | Qt::AlignRight,
                             bytes_text(Bytes(std::llround(at))));
        }
    }
    painter.save();
    painter.setClipRect(rect.adjusted(0, -2, 0, 1));
    paint_memory_curve(painter, rect);
    painter.restore();
    const Schedule& schedule = session_.schedule()->schedule;
    const std::int64_t full = session_.graph()->full_peak.value;
    const bool has_budget = schedule.budget.value > 0;
    const bool crowded = has_budget && std::abs(y_of(full) - y_of(schedule.budget.value)) < 38;
    if (!crowded || !has_budget)
        paint_line(painter, full, tr("all kept %1").arg(bytes_text(Bytes(full))), theme::faint, false);
    if (has_budget) {
        paint_line(painter, schedule.budget.value, tr("budget %1").arg(bytes_text(schedule.budget)),
                   theme::danger, false);
    }
}

void LanesView::paint_memory_curve(QPainter& painter, const QRectF& rect) const {
    // One column a pixel: the highest value within it, carried on where no step begins.
    const int columns = std::max(1, static_cast<int>(rect.width()));
    std::vector<std::int64_t> highest(columns, -1);
    auto point = std::upper_bound(data_.memory.begin(), data_.memory.end(), from_,
                                  [](double at, const MemoryPoint& p) { return at < p.x; });
    std::int64_t level = point == data_.memory.begin() ? 0 : std::prev(point)->bytes;
    int column = 0;
    for (; point != data_.memory.end() && point->x <= to_; ++point) {
        const int at = std::clamp(static_cast<int>(x_of(point->x) - rect.left()), 0, columns - 1);
        for (; column <= at; ++column) highest[column] = std::max(highest[column], level);
        highest[at] = std::max(highest[at], point->bytes);
        level = point->bytes;
    }
    for (; column < columns; ++column) highest[column] = std::max(highest[column], level);
    QPolygonF area;
    area << QPointF(rect.left(), rect.bottom());
    for (int i = 0; i < columns; ++i) {
        const double y = y_of(highest[i]);
        area << QPointF(rect.left() + i, y) << QPointF(rect.left() + i + 1, y);
    }
    area << QPointF(rect.left() + columns, rect.bottom());
    const std::int64_t resident = session_.graph()->flat.resident_bytes;
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme::tint(theme::accent, 0.22));
    painter.drawPolygon(area);
    if (resident > 0) {
        painter.setBrush(theme::tint(theme::muted, 0.30));
        painter.drawRect(QRectF(QPointF(rect.left(), y_of(resident)), rect.bottomRight()));
        if (rect.bottom() - y_of(resident) > 14) {
            painter.setPen(theme::muted);
            painter.drawText(QRectF(rect.left() + 6, y_of(resident), 220, 16), Qt::AlignVCenter,
                             tr("resident %1").arg(bytes_text(Bytes(resident))));
        }
    }
    area.pop_front();
    area.pop_back();
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme::accent, 1.3));
    painter.drawPolyline(area);
}

void LanesView::paint_line(QPainter& painter, std::int64_t bytes, const QString& label, const QColor& color,
                           bool below) const {
    const QRectF rect = memory_rect();
    const double y = y_of(bytes);
    painter.setPen(QPen(color, 1.3, Qt::DashLine));
    painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right(), y));
    const double width = painter.fontMetrics().horizontalAdvance(label) + 10;
    const bool under = below || y - 17 < rect.top() - 6;
    const QRectF box(rect.right() - width - 4, under ? y + 2 : y - 18, width, 16);
    painter.fillRect(box, QColor(255, 255, 255, 215));
    painter.setPen(color == theme::faint ? theme::muted : color);
    painter.drawText(box, Qt::AlignCenter, label);
}

void LanesView::paint_axis(QPainter& painter) const {
    const QRectF area = plot();
    painter.setPen(QPen(theme::line, 1));
    painter.drawLine(area.bottomLeft(), area.bottomRight());
    const double step = round_step(to_ - from_, std::max(2, static_cast<int>(area.width() / 110)));
    for (double at = std::ceil(from_ / step) * step; at <= to_; at += step) {
        const double x = x_of(at);
        painter.setPen(QPen(theme::line, 1));
        painter.drawLine(QPointF(x, area.bottom()), QPointF(x, area.bottom() + 4));
        painter.setPen(theme::muted);
        const QString label = data_.axis == LaneAxis::time ? time_text(Nanoseconds(std::llround(at)))
                                                           : tr("run %1").arg(std::llround(at));
        const double left = std::min(x - 45, width() - 92.0);
        const bool first = left < area.left() - 10;  // the corner below the lane names holds the button
        painter.drawText(QRectF(first ? x : left, area.bottom() + 4, 90, axis_height - 5),
                         first ? Qt::AlignLeft | Qt::AlignVCenter : Qt::AlignCenter, label);
    }
}

void LanesView::paint_cursor(QPainter& painter) const {
    const int step = session_.selection.cursor();
    if (step < 0 || step >= static_cast<int>(data_.step_begin.size())) return;
    const double x = x_of(data_.begin_of(step));
    const QRectF area = plot();
    if (x < area.left() - 1 || x > area.right() + 1) return;
    painter.setPen(QPen(theme::ink, 1.4));
    painter.drawLine(QPointF(x, area.top() - 4), QPointF(x, area.bottom()));
    const StepTrace& trace = session_.schedule()->simulation.steps[step];
    const QString label = bytes_text(trace.during);
    const QRectF box(std::min(x + 4, width() - 96.0), memory_rect().bottom() - 20, 92, 17);
    painter.fillRect(box, QColor(255, 255, 255, 225));
    painter.drawText(box.adjusted(4, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, label);
}

QString LanesView::tip_at(const QPoint& position) const {
    const int step = data_.step_at(at_of(position.x()));
    if (step < 0 || !plot().contains(position)) return {};
    const LoadedSchedule& schedule = *session_.schedule();
    const Step& at = schedule.schedule.steps[step];
    const Op& op = schedule.graph->graph.ops[at.op()];
    const StepTrace& trace = schedule.simulation.steps[step];
    QString tip = tr("step %1: %2 (op %3)").arg(step).arg(text(op.name)).arg(at.id);
    if (!op.module.empty()) tip += '\n' + text(op.module);
    return tip + tr("\n%1, %2 held while it runs").arg(time_text(op.time), bytes_text(trace.during));
}

bool LanesView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip && !data_.bars.empty()) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString tip = tip_at(help->pos());
        if (!tip.isEmpty())
            QToolTip::showText(help->globalPos(), tip, this);
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

void LanesView::wheelEvent(QWheelEvent* event) {
    if (data_.bars.empty()) return;
    const double at = at_of(event->position().x());
    const double factor = std::pow(1.0015, -event->angleDelta().y());
    const double span = std::min((to_ - from_) * factor, std::max(data_.length, 1e-6));
    const double share = (at - from_) / (to_ - from_);
    set_range(at - share * span, at - share * span + span);
    event->accept();
}

void LanesView::mousePressEvent(QMouseEvent* event) {
    press_x_ = event->localPos().x();
    press_from_ = from_;
    panning_ = false;
}

void LanesView::mouseMoveEvent(QMouseEvent* event) {
    if (!(event->buttons() & Qt::LeftButton) || data_.bars.empty()) return;
    const double delta = event->localPos().x() - press_x_;
    if (!panning_ && std::abs(delta) < 4) return;
    panning_ = true;
    const double span = to_ - from_;
    const double from = press_from_ - delta / std::max(1.0, plot().width()) * span;
    set_range(from, from + span);
}

void LanesView::mouseReleaseEvent(QMouseEvent* event) {
    if (panning_ || data_.bars.empty() || event->button() != Qt::LeftButton) return;
    const int step = data_.step_at(at_of(event->localPos().x()));
    if (step < 0) return;
    session_.selection.select(Selected::of(session_.schedule()->schedule.steps[step].op()));
    session_.selection.set_cursor(step);
}

void LanesView::mouseDoubleClickEvent(QMouseEvent*) {
    show_all();
}

void LanesView::keyPressEvent(QKeyEvent* event) {
    const int direction = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    if (direction == 0 || data_.bars.empty()) return QWidget::keyPressEvent(event);
    const auto& steps = session_.schedule()->schedule.steps;
    int step = session_.selection.cursor();
    do {
        step += direction;
    } while (step >= 0 && step < static_cast<int>(steps.size()) && !steps[step].runs());
    if (step < 0 || step >= static_cast<int>(steps.size())) return;
    session_.selection.select(Selected::of(steps[step].op()));
    session_.selection.set_cursor(step);
}

void LanesView::resizeEvent(QResizeEvent*) {
    axis_button_->adjustSize();
    const QRectF memory = memory_rect();
    axis_button_->move(6, static_cast<int>(memory.bottom()) - axis_button_->height() + 22);
}

}  // namespace rematlas::explorer
