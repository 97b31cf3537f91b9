#include "app/explorer/docks/tradeoff_view.h"

#include <QHBoxLayout>
#include <algorithm>
#include <utility>

#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"
#include "core/costs/link_profile.h"
#include "core/planning/registry.h"

namespace rematlas::explorer {

TradeoffView::TradeoffView(Session& session) : session_(session), plot_(new SweepPlot(session)) {
    hint_ = theme::quiet_label({}, true);
    hint_->setAlignment(Qt::AlignCenter);
    hint_->setContentsMargins(30, 0, 30, 0);
    theme::set_on_page(*hint_);
    stack_ = new QStackedWidget;
    stack_->addWidget(hint_);
    stack_->addWidget(plot_);
    QVBoxLayout* layout = theme::plain_column(this);
    layout->addWidget(make_controls());
    layout->addWidget(stack_, 1);
    SweepController& sweep = session_.sweep;
    connect(&sweep, &SweepController::changed, this, &TradeoffView::refresh);
    connect(&sweep, &SweepController::started, this, [this] { show_running(true); });
    connect(&sweep, &SweepController::finished, this, [this] { show_running(false); });
    connect(&sweep, &SweepController::progressed, this, [this](int done, int total) {
        progress_->setRange(0, std::max(1, total));
        progress_->setValue(done);
    });
    connect(&session_, &Session::graph_changed, this, &TradeoffView::refresh);
    connect(&session_, &Session::schedule_changed, plot_, qOverload<>(&QWidget::update));
    connect(&session_.budget, &BudgetController::changed, plot_, qOverload<>(&QWidget::update));
    connect(&session_, &Session::graph_changed, plot_, &SweepPlot::show_all);
    connect(&sweep, &SweepController::started, plot_, &SweepPlot::show_all);
    connect(plot_, &SweepPlot::chosen, this, &TradeoffView::load_point_at);
    show_running(false);
    refresh();
}

QWidget* TradeoffView::make_controls() {
    auto* bar = new QWidget;
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(theme::margin, 6, theme::margin, 6);
    row->setSpacing(theme::gap);
    solvers_button_ = theme::boxed_button(tr("Solvers"), tr("Which solvers the sweep compares"));
    solvers_button_->setPopupMode(QToolButton::InstantPopup);
    solvers_ = new QMenu(solvers_button_);
    for (const SolverEntry* solver : all_solvers()) {
        QAction* action = solvers_->addAction(text(solver->traits.name));
        action->setCheckable(true);
        action->setChecked(solver->traits.compared);
    }
    solvers_button_->setMenu(solvers_);
    copies_button_ = theme::boxed_button(
        tr("Copies"),
        tr("What schedules may copy to the host: a curve for each, of the solvers that plan such copies"));
    copies_button_->setObjectName("sweep_copies");
    copies_button_->setPopupMode(QToolButton::InstantPopup);
    copies_ = new QMenu(copies_button_);
    const std::pair<QString, Offload> kinds[] = {{tr("none"), Offload::none},
                                                 {tr("activations"), Offload::activations},
                                                 {tr("weights"), Offload::weights},
                                                 {tr("activations and weights"), Offload::all}};
    for (const auto& [name, what] : kinds) {
        QAction* action = copies_->addAction(name);
        action->setCheckable(true);
        action->setChecked(what == Offload::none);
        action->setData(static_cast<int>(what));
    }
    copies_->addSeparator();
    QAction* link = copies_->addAction(QString());
    link->setEnabled(false);
    connect(copies_, &QMenu::aboutToShow, this, [this, link] {
        link->setText(tr("over %1, the link under Solve").arg(text(link_name(session_.links()))));
        link->setVisible(session_.links().both_ways());
    });
    copies_button_->setMenu(copies_);
    points_ = new QSpinBox;
    points_->setAccessibleName(tr("Number of budgets"));
    points_->setRange(2, 64);
    points_->setValue(12);
    points_->setSuffix(tr(" budgets"));
    seconds_ = new QSpinBox;
    seconds_->setAccessibleName(tr("Time limit"));
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
    row->addWidget(copies_button_);
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

std::vector<std::string> TradeoffView::chosen_solvers() const {
    std::vector<std::string> names;
    for (const QAction* action : solvers_->actions()) {
        if (action->isChecked()) names.push_back(action->text().remove('&').toStdString());
    }
    return names;
}

std::vector<Copies> TradeoffView::chosen_copies() const {
    std::vector<Copies> chosen;
    for (const QAction* action : copies_->actions()) {
        if (!action->isChecked()) continue;
        Copies copies{.what = static_cast<Offload>(action->data().toInt())};
        if (copies.what != Offload::none) copies.links = session_.solve_settings().copies.links;
        chosen.push_back(copies);
    }
    return chosen;
}

void TradeoffView::start_sweep() {
    const std::vector<std::string> names = chosen_solvers();
    const std::vector<Copies> copies = chosen_copies();
    if (!session_.graph() || names.empty() || copies.empty()) return;
    progress_->setRange(0, 0);
    session_.sweep.start(session_.graph(), names, points_->value(), std::chrono::seconds(seconds_->value()),
                         session_.pins.pins(), copies);
}

void TradeoffView::show_running(bool running) {
    start_->setVisible(!running);
    stop_->setVisible(running);
    progress_->setVisible(running);
    refresh();
}

void TradeoffView::refresh() {
    const GraphPtr& graph = session_.graph();
    const auto& curves = session_.sweep.sweep().curves;
    start_->setEnabled(graph != nullptr);
    const bool empty = std::all_of(curves.begin(), curves.end(), [](const SweepCurve& curve) {
        return std::all_of(curve.points.begin(), curve.points.end(),
                           [](const SweepPoint& point) { return point.peak.value <= 0; });
    });
    stack_->setCurrentIndex(empty ? 0 : 1);
    hint_->setText(
        !graph ? tr("Open a graph to compare budgets.")
        : session_.sweep.running()
            ? tr("Sweeping; points appear as they are found.")
            : tr("Sweep to see what each budget costs in time.\nA click on a point shows its schedule."));
    plot_->update();
}

void TradeoffView::load_point_at(const QPointF& position) {
    const std::optional<SweepMarker> near = plot_->nearest(position);
    if (!near) return;
    const SweepCurve& curve = session_.sweep.sweep().curves[near->curve];
    const SweptPoint found{curve.solver, curve.copies, curve.points[near->point]};
    session_.show_point(found);  // `found` is a copy, because `show_point` may change the sweep
}

}  // namespace rematlas::explorer
