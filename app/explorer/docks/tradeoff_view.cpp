#include "app/explorer/docks/tradeoff_view.h"

#include <qcustomplot.h>

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "app/explorer/look/theme.h"
#include "app/explorer/session/wording.h"
#include "core/planning/registry.h"

namespace rematlas::explorer {
namespace {

constexpr double reach = 14;  ///< pixels between a click and a point

struct Unit {
    double bytes;
    const char* name;
};

Unit unit_for(std::int64_t bytes) {
    if (bytes >= std::int64_t{1} << 31) return {1024.0 * 1024 * 1024, "GiB"};
    if (bytes >= 1 << 21) return {1024.0 * 1024, "MiB"};
    if (bytes >= 1 << 11) return {1024.0, "KiB"};
    return {1.0, "B"};
}

/// By name, so that a solver keeps its colour from sweep to sweep.
QColor color_of(const std::string& solver) {
    const auto known = all_solvers();
    return theme::solver_color(
        static_cast<int>(std::find(known.begin(), known.end(), find_solver(solver)) - known.begin()));
}

bool useful(const SweepPoint& point) {
    return point.peak.value > 0;
}

}  // namespace

TradeoffView::TradeoffView(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), plot_(new QCustomPlot) {
    hint_ = theme::quiet_label({}, true);
    hint_->setAlignment(Qt::AlignCenter);
    hint_->setAutoFillBackground(true);
    hint_->setContentsMargins(30, 0, 30, 0);
    QPalette white = hint_->palette();
    white.setColor(QPalette::Window, theme::base);
    hint_->setPalette(white);
    stack_ = new QStackedWidget;
    stack_->addWidget(hint_);
    stack_->addWidget(plot_);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(make_controls());
    layout->addWidget(stack_, 1);
    make_plot();
    SweepController& sweep = session_.sweep;
    connect(&sweep, &SweepController::changed, this, &TradeoffView::refresh);
    connect(&sweep, &SweepController::started, this, [this] { show_running(true); });
    connect(&sweep, &SweepController::finished, this, [this] { show_running(false); });
    connect(&sweep, &SweepController::progressed, this, [this](int done, int total) {
        progress_->setRange(0, std::max(1, total));
        progress_->setValue(done);
    });
    connect(&session_, &Session::graph_changed, this, &TradeoffView::refresh);
    connect(&session_, &Session::schedule_changed, this, &TradeoffView::refresh_marker);
    connect(&session_.budget, &BudgetController::changed, this, &TradeoffView::refresh_marker);
    show_running(false);
    refresh();
}

QWidget* TradeoffView::make_controls() {
    auto* bar = new QWidget;
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(theme::margin, 6, theme::margin, 6);
    row->setSpacing(theme::gap);
    solvers_button_ = new QToolButton;
    solvers_button_->setText(tr("Solvers"));
    solvers_button_->setProperty("boxed", true);
    solvers_button_->setToolTip(tr("Which solvers the sweep compares"));
    solvers_button_->setPopupMode(QToolButton::InstantPopup);
    solvers_ = new QMenu(solvers_button_);
    for (const SolverEntry* solver : all_solvers()) {
        QAction* action = solvers_->addAction(text(solver->traits.name));
        action->setCheckable(true);
        action->setChecked(solver->traits.compared);
    }
    solvers_button_->setMenu(solvers_);
    points_ = new QSpinBox;
    points_->setRange(2, 64);
    points_->setValue(12);
    points_->setSuffix(tr(" budgets"));
    seconds_ = new QSpinBox;
    seconds_->setRange(1, 36000);
    seconds_->setValue(20);
    seconds_->setSuffix(tr(" s"));
    seconds_->setToolTip(tr("Time limit of the whole sweep"));
    start_ = new QPushButton(tr("Sweep"));
    start_->setObjectName("sweep");
    stop_ = new QPushButton(tr("Stop"));
    progress_ = new QProgressBar;
    progress_->setTextVisible(false);
    row->addWidget(solvers_button_);
    row->addWidget(points_);
    row->addWidget(seconds_);
    row->addWidget(progress_, 1);
    row->addStretch();
    row->addWidget(start_);
    row->addWidget(stop_);
    connect(start_, &QPushButton::clicked, this, &TradeoffView::start_sweep);
    connect(stop_, &QPushButton::clicked, &session_.sweep, &SweepController::stop);
    return bar;
}

void TradeoffView::make_plot() {
    plot_->setBackground(QBrush(theme::base));
    plot_->setNoAntialiasingOnDrag(true);
    plot_->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    plot_->axisRect()->setMinimumMargins(QMargins(52, 10, 14, 40));
    for (QCPAxis* axis : {plot_->xAxis, plot_->yAxis}) {
        axis->setBasePen(QPen(theme::line));
        axis->setTickPen(QPen(theme::line));
        axis->setSubTickPen(Qt::NoPen);
        axis->setTickLabelColor(theme::muted);
        axis->setLabelColor(theme::muted);
        axis->setLabelFont(frame_font());
        axis->setTickLabelFont(frame_font());
        axis->grid()->setPen(QPen(QColor(0xe8, 0xec, 0xf1)));
        axis->grid()->setZeroLinePen(QPen(QColor(0xe8, 0xec, 0xf1)));
    }
    plot_->yAxis->setLabel(tr("more time, %"));
    plot_->legend->setFont(frame_font());
    plot_->legend->setBorderPen(Qt::NoPen);
    plot_->legend->setBrush(Qt::NoBrush);
    plot_->legend->setMargins(QMargins(40, 2, 4, 0));
    plot_->legend->setIconSize(14, 10);
    plot_->legend->setColumnSpacing(14);
    plot_->legend->setTextColor(theme::muted);
    // Above the plot, where it covers no curve.
    plot_->legend->setFillOrder(QCPLayoutGrid::foColumnsFirst);
    plot_->legend->setWrap(5);
    plot_->plotLayout()->insertRow(0);
    plot_->plotLayout()->addElement(0, 0, plot_->legend);
    plot_->plotLayout()->setRowStretchFactor(0, 0.001);
    budget_line_ = new QCPItemStraightLine(plot_);
    budget_line_->setPen(QPen(theme::danger, 1.2, Qt::DashLine));
    budget_line_->setVisible(false);
    connect(plot_, &QCustomPlot::mouseRelease, this, [this](QMouseEvent* event) {
        if (event->button() == Qt::LeftButton) load_point_at(event->localPos());
    });
    connect(plot_, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
        const Shown* near = nearest(event->localPos());
        plot_->setCursor(near ? Qt::PointingHandCursor : Qt::ArrowCursor);
        if (!near) {
            QToolTip::hideText();
            return;
        }
        QToolTip::showText(
            event->globalPos(),
            tr("%1: peak %2, %3 time\nclick to show this schedule")
                .arg(text(near->solver), bytes_text(near->point.peak), overhead_text(near->point.overhead)),
            plot_);
    });
    connect(plot_, &QCustomPlot::mouseDoubleClick, this, [this] { refresh(); });
}

std::vector<std::string> TradeoffView::chosen_solvers() const {
    std::vector<std::string> names;
    for (const QAction* action : solvers_->actions()) {
        if (action->isChecked()) names.push_back(action->text().remove('&').toStdString());
    }
    return names;
}

void TradeoffView::start_sweep() {
    const std::vector<std::string> names = chosen_solvers();
    if (!session_.graph() || names.empty()) return;
    progress_->setRange(0, 0);
    session_.sweep.start(session_.graph(), names, points_->value(), std::chrono::seconds(seconds_->value()));
}

void TradeoffView::show_running(bool running) {
    start_->setVisible(!running);
    stop_->setVisible(running);
    progress_->setVisible(running);
    refresh();
}

void TradeoffView::refresh() {
    shown_.clear();
    plot_->clearGraphs();
    marker_ = nullptr;
    const Sweep& sweep = session_.sweep.sweep();
    const GraphPtr& graph = session_.graph();
    const Unit unit = unit_for(graph ? graph->full_peak.value : 0);
    unit_ = unit.bytes;
    plot_->xAxis->setLabel(tr("peak memory, %1").arg(unit.name));
    double most = 5;
    for (std::size_t i = 0; i < sweep.curves.size(); ++i) {
        const SweepCurve& curve = sweep.curves[i];
        const QColor color = color_of(curve.solver);
        QVector<double> x, y;
        for (const SweepPoint& point : curve.points) {
            if (!useful(point)) continue;
            shown_.push_back({curve.solver, point, point.peak.value / unit_, (point.overhead - 1) * 100});
            x << shown_.back().x;
            y << shown_.back().y;
            most = std::max(most, shown_.back().y);
        }
        QCPGraph* line = plot_->addGraph();
        line->setName(text(curve.solver));
        line->setPen(QPen(color, 1.8));
        line->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle, color, theme::base, 6));
        line->setData(x, y);
    }
    marker_ = plot_->addGraph();
    marker_->setPen(Qt::NoPen);
    marker_->setScatterStyle(
        QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(theme::ink, 2), QBrush(theme::highlight), 11));
    marker_->removeFromLegend();
    plot_->legend->setVisible(!sweep.curves.empty());
    const double left = graph ? graph->least.bytes.value / unit_ : 0,
                 right = graph ? graph->full_peak.value / unit_ : 1;
    plot_->xAxis->setRange(left - (right - left) * 0.04, right + (right - left) * 0.06);
    plot_->yAxis->setRange(-most * 0.04, most * 1.12);
    start_->setEnabled(graph != nullptr);
    const bool empty = shown_.empty();
    stack_->setCurrentIndex(empty ? 0 : 1);
    hint_->setText(
        !graph ? tr("Open a graph to compare budgets.")
        : session_.sweep.running()
            ? tr("Sweeping; points appear as they are found.")
            : tr("Sweep to see what each budget costs in time.\nA click on a point shows its schedule."));
    refresh_marker();
}

void TradeoffView::refresh_marker() {
    if (!marker_) return;
    const SchedulePtr& schedule = session_.schedule();
    marker_->data()->clear();
    if (schedule && schedule->ok()) {
        marker_->addData(schedule->report.peak.value / unit_, (schedule->report.overhead - 1) * 100);
    }
    budget_line_->setVisible(session_.graph() != nullptr);
    const double x = session_.budget.budget().value / unit_;
    budget_line_->point1->setCoords(x, 0);
    budget_line_->point2->setCoords(x, 1);
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

const TradeoffView::Shown* TradeoffView::nearest(const QPointF& position) const {
    const Shown* best = nullptr;
    double least = reach;
    for (const Shown& shown : shown_) {
        const QPointF at(plot_->xAxis->coordToPixel(shown.x), plot_->yAxis->coordToPixel(shown.y));
        const double distance = std::hypot(at.x() - position.x(), at.y() - position.y());
        if (distance < least) {
            least = distance;
            best = &shown;
        }
    }
    return best;
}

bool TradeoffView::load_point_at(const QPointF& position) {
    const Shown* near = nearest(position);
    if (!near) return false;
    const Shown chosen = *near;  // showing it may rebuild the list
    session_.show_point(chosen.solver, chosen.point);
    return true;
}

}  // namespace rematlas::explorer
