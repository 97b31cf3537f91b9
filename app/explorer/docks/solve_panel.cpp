#include "app/explorer/docks/solve_panel.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QStyle>
#include <QTimer>
#include <QVBoxLayout>

#include "app/explorer/docks/copies_box.h"
#include "app/explorer/docks/link_box.h"
#include "app/explorer/docks/pins_box.h"
#include "app/explorer/loaded/over_link.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"
#include "core/planning/registry.h"

namespace rematlas::explorer {
namespace {

constexpr int narrowest = 290;  ///< smallest width of the panel, in pixels

QString rows_html(const QList<QPair<QString, QString>>& rows) {
    QString html = "<table cellspacing='0' cellpadding='2' width='100%'>";
    for (const auto& [name, value] : rows) {
        html += QStringLiteral("<tr><td style='color:%1'>%2</td><td align='right'>%3</td></tr>")
                    .arg(theme::muted.name(), name.toHtmlEscaped(), value);
    }
    return html + "</table>";
}

/// Says in words what is proven about the overhead. For a negligible gap the words have no number, because
/// the bound could differ in its last digit from the overhead that is shown above.
QString bound_text(const Schedule& schedule, std::optional<double> bound) {
    if (!bound) return SolvePanel::tr("not known");
    const double gap = gap_above(schedule.overhead, *bound);
    if (is_none(gap))
        return schedule.pins.empty() ? SolvePanel::tr("no schedule is faster")
                                     : SolvePanel::tr("no schedule under its pins is faster");
    QString told =
        SolvePanel::tr("%1, this is within %2")
            .arg(overhead_text(*bound), gap < 1e-3 ? SolvePanel::tr("less than 0.1 %") : percent_text(gap));
    return told.replace(" %", QString(QChar::Nbsp) + '%');  // prevents a line break before "%"
}

}  // namespace

SolvePanel::SolvePanel(Session& session) : session_(session) {
    setMinimumWidth(narrowest);
    auto* content = new QWidget;
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(theme::margin, theme::margin, theme::margin, theme::margin);
    layout->setSpacing(theme::gap);
    layout->addWidget(make_budget_fields());
    layout->addWidget(make_solver_fields());
    copies_ = new CopiesBox(session_);
    layout->addWidget(copies_);
    layout->addWidget(new PinsBox(session_));
    layout->addWidget(make_progress());
    layout->addWidget(new LinkBox(session_));
    layout->addStretch();
    scroll_ = new QScrollArea;
    scroll_->setWidget(content);
    scroll_->setWidgetResizable(true);
    scroll_->setFrameShape(QFrame::NoFrame);
    scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(scroll_);
    connect_budget();
    connect_solver();
    theme::on_change(this, [this] { show_schedule(); });
    show_idle();
    show_schedule();
}

QWidget* SolvePanel::make_budget_fields() {
    auto* box = new QWidget;
    auto* grid = new QGridLayout(box);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setVerticalSpacing(6);
    budget_ = new QLineEdit;
    budget_->setObjectName("budget");
    budget_->setPlaceholderText(tr("2GiB, 60% or bytes"));
    budget_->setToolTip(
        tr("The most memory the step may hold: a size such as 2GiB or 512MiB, a share of the peak\n"
           "without recomputation such as 60%, or plain bytes"));
    share_ = theme::quiet_label({});
    slider_ = new QSlider(Qt::Horizontal);
    slider_->setObjectName("budget_slider");
    slider_->setAccessibleName(tr("Budget"));
    slider_->setRange(0, BudgetController::slider_steps);
    smallest_ = theme::quiet_label({});
    smallest_->setToolTip(tr("The smallest budget for which a schedule is known"));
    full_ = theme::quiet_label({});
    full_->setToolTip(tr("The peak when nothing is recomputed"));
    full_->setAlignment(Qt::AlignRight);
    budget_error_ = theme::danger_label();
    budget_error_->setObjectName("budget_error");
    auto* title = new QLabel(tr("Budget"));
    title->setBuddy(budget_);
    grid->addWidget(title, 0, 0);
    grid->addWidget(share_, 0, 1, Qt::AlignRight);
    grid->addWidget(budget_, 1, 0, 1, 2);
    grid->addWidget(slider_, 2, 0, 1, 2);
    grid->addWidget(smallest_, 3, 0);
    grid->addWidget(full_, 3, 1);
    grid->addWidget(budget_error_, 4, 0, 1, 2);
    return box;
}

QWidget* SolvePanel::make_solver_fields() {
    auto* box = new QWidget;
    auto* grid = new QGridLayout(box);
    grid->setContentsMargins(0, theme::gap, 0, 0);
    grid->setVerticalSpacing(6);
    solver_ = new QComboBox;
    solver_->setAccessibleName(tr("Solver"));
    solver_->setObjectName("solver");
    for (const SolverEntry* entry : all_solvers()) {
        solver_->addItem(text(entry->traits.name));
        if (make_solver(entry->traits.name))
            solver_->setItemData(solver_->count() - 1, text(entry->traits.summary), Qt::ToolTipRole);
    }
    time_ = new QDoubleSpinBox;
    time_->setAccessibleName(tr("Time limit"));
    time_->setRange(0.1, 36000);
    time_->setDecimals(1);
    time_->setValue(std::chrono::duration<double>(session_.solve_settings().time).count());
    time_->setSuffix(tr(" s"));
    time_->setToolTip(tr("The solver stops by then and hands over its best schedule"));
    grid->addWidget(new QLabel(tr("Solver")), 0, 0);
    grid->addWidget(new QLabel(tr("Time limit")), 0, 1);
    grid->addWidget(solver_, 1, 0);
    grid->addWidget(time_, 1, 1);
    grid->setColumnStretch(0, 3);
    grid->setColumnStretch(1, 2);
    return box;
}

QWidget* SolvePanel::make_progress() {
    auto* box = new QWidget;
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, theme::gap, 0, 0);
    layout->setSpacing(theme::gap);
    solve_ = new QPushButton(theme::icon("solve"), tr("Solve"));
    solve_->setObjectName("solve");
    solve_->setProperty("primary", true);
    best_so_far_ = new QPushButton(tr("Take best so far"));
    best_so_far_->setToolTip(tr("Stops the solver and shows the best schedule it has"));
    cancel_ = new QPushButton(tr("Cancel"));
    cancel_->setObjectName("cancel_solve");
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(solve_);
    buttons->addWidget(best_so_far_, 1);
    buttons->addWidget(cancel_);
    progress_ = new QProgressBar;
    progress_->setTextVisible(false);
    progress_->setRange(0, 1000);
    incumbent_ = theme::quiet_label({}, true);
    answer_ = new QLabel;
    answer_->setObjectName("answer");
    answer_->setWordWrap(true);
    answer_->setTextFormat(Qt::RichText);
    answer_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    answer_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    layout->addLayout(buttons);
    layout->addWidget(progress_);
    layout->addWidget(incumbent_);
    layout->addWidget(answer_);
    return box;
}

void SolvePanel::connect_budget() {
    BudgetController& budget = session_.budget;
    connect(budget_, &QLineEdit::textEdited, &budget, &BudgetController::set_text);
    connect(budget_, &QLineEdit::returnPressed, this, &SolvePanel::solve);
    connect(slider_, &QSlider::valueChanged, &budget, &BudgetController::set_slider);
    connect(&budget, &BudgetController::changed, this, &SolvePanel::show_budget);
    connect(&budget, &BudgetController::range_changed, this, &SolvePanel::show_budget);
}

void SolvePanel::connect_solver() {
    connect(solve_, &QPushButton::clicked, this, &SolvePanel::solve);
    connect(best_so_far_, &QPushButton::clicked, &session_.solver, &SolveController::finish_early);
    connect(cancel_, &QPushButton::clicked, &session_.solver, &SolveController::cancel);
    connect(&session_, &Session::graph_changed, this, &SolvePanel::show_idle);
    connect(&session_, &Session::graph_changed, this, &SolvePanel::show_budget);
    connect(&session_, &Session::schedule_changed, this, &SolvePanel::show_schedule);
    connect(&session_, &Session::known_changed, this, [this] {
        if (failed_budget_.isEmpty()) show_schedule();
    });
    connect(&session_.solver, &SolveController::started, this, &SolvePanel::show_running);
    connect(&session_.solver, &SolveController::finished, this, &SolvePanel::show_idle);
    connect(&session_.solver, &SolveController::improved, this, &SolvePanel::show_improvement);
    connect(&session_.solver, &SolveController::infeasible, this, &SolvePanel::show_infeasible);
    connect(&session_.solver, &SolveController::failed, this, [this](const QString& message) {
        show_failure(QStringLiteral("<span style='color:%1'>%2</span>")
                         .arg(theme::danger.name(), message.toHtmlEscaped()));
    });
    connect(&session_.pins, &PinList::changed, this, &SolvePanel::forget_failure);
    connect(&session_.budget, &BudgetController::changed, this, &SolvePanel::forget_failure);
    connect(solver_, &QComboBox::currentTextChanged, this, [this](const QString& name) {
        SolveSettings settings = session_.solve_settings();
        settings.solver = name.toStdString();
        session_.set_solve_settings(settings);
        copies_->follow_solver();
        if (!failed_budget_.isEmpty()) show_schedule();
    });
    connect(time_, qOverload<double>(&QDoubleSpinBox::valueChanged), this, [this](double seconds) {
        SolveSettings settings = session_.solve_settings();
        settings.time = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
        session_.set_solve_settings(settings);
    });
}

void SolvePanel::solve() {
    if (!session_.graph() || !session_.budget.valid()) return;
    session_.solve_for(session_.budget.budget());
}

void SolvePanel::focus_budget() {
    budget_->setFocus(Qt::ShortcutFocusReason);
    budget_->selectAll();
}

void SolvePanel::show_budget() {
    const BudgetController& budget = session_.budget;
    const bool loaded = session_.graph() != nullptr;
    if (budget_->text() != budget.text()) budget_->setText(budget.text());
    {
        const QSignalBlocker quiet(slider_);
        slider_->setValue(budget.slider());
    }
    const bool wrong = loaded && !budget.error().isEmpty();
    budget_->setProperty("invalid", wrong);
    budget_->style()->polish(budget_);
    budget_error_->setText(wrong ? budget.error() : QString());
    budget_error_->setVisible(wrong);
    share_->setText(loaded && !wrong ? budget.share_text() : QString());
    smallest_->setText(loaded ? tr("%1 smallest").arg(bytes_text(budget.smallest())) : QString());
    full_->setText(loaded ? tr("all kept %1").arg(bytes_text(budget.full())) : QString());
    solve_->setEnabled(loaded && !wrong);
}

void SolvePanel::show_idle() {
    const bool loaded = session_.graph() != nullptr;
    for (QWidget* widget :
         {static_cast<QWidget*>(budget_), static_cast<QWidget*>(slider_), static_cast<QWidget*>(solver_),
          static_cast<QWidget*>(time_), static_cast<QWidget*>(solve_)}) {
        widget->setEnabled(loaded);
    }
    solve_->show();
    best_so_far_->hide();
    cancel_->hide();
    progress_->hide();
    incumbent_->hide();
}

void SolvePanel::show_running() {
    solve_->hide();
    best_so_far_->show();
    cancel_->show();
    progress_->setRange(0, 0);
    progress_->show();
    incumbent_->setText(tr("Looking for a first schedule"));
    incumbent_->show();
    show_schedule();  // removes the message on why the last budget was too small
}

void SolvePanel::show_improvement(double overhead, qint64 peak, double bound, double fraction) {
    progress_->setRange(0, 1000);
    progress_->setValue(static_cast<int>(fraction * 1000));
    if (overhead <= 0) return;
    QString line = tr("Best so far %1 time, peak %2").arg(overhead_text(overhead), bytes_text(Bytes(peak)));
    if (bound > 0) line += tr("; at best %1").arg(overhead_text(bound));
    incumbent_->setText(line);
}

void SolvePanel::show_schedule() {
    failed_budget_.clear();
    const SchedulePtr& schedule = session_.schedule();
    if (!schedule) {
        answer_->setText(
            QStringLiteral("<span style='color:%1'>%2</span>")
                .arg(theme::muted.name(),
                     session_.graph()
                         ? tr("Set a budget and press Solve. The trade-off panel tries many budgets at once.")
                         : tr("Open a graph to plan its memory.")));
        return;
    }
    const Schedule& s = schedule->schedule;
    const CheckReport& report = schedule->report;
    QString html;
    if (report.ok()) {
        html = QStringLiteral(
                   "<div style='font-size:19px; font-weight:600'>%1 <span style='font-size:13px; "
                   "font-weight:400; color:%2'>%3</span></div>")
                   .arg(overhead_text(report.overhead), theme::muted.name(), tr("time"));
    } else {
        html = QStringLiteral("<div style='color:%1; font-weight:600'>%2</div><div>%3</div>")
                   .arg(theme::danger.name(), tr("This schedule fails the check"),
                        text(report.violations.front()).toHtmlEscaped());
    }
    const double full = static_cast<double>(std::max<std::int64_t>(1, schedule->graph->full_peak.value));
    QList<QPair<QString, QString>> rows;
    rows << qMakePair(tr("Solver"), text(s.solver).toHtmlEscaped());
    rows << qMakePair(tr("Peak"),
                      tr("%1 (%2)").arg(bytes_text(report.peak), percent_text(report.peak.value / full)));
    if (s.budget.value > 0) rows << qMakePair(tr("Budget"), bytes_text(s.budget));
    rows << qMakePair(tr("Step time"), tr("%1").arg(time_text(report.time)));
    rows << qMakePair(tr("Recomputed"),
                      tr("%1 runs, %2").arg(schedule->reruns).arg(time_text(schedule->extra_time)));
    if (report.to_host.bytes.value > 0 || report.host_peak.value > 0) {
        rows << qMakePair(tr("Copied"),
                          tr("%1 to the host, %2 back")
                              .arg(bytes_text(report.to_host.bytes), bytes_text(report.to_device.bytes)));
        rows << qMakePair(tr("On the host"), tr("at most %1").arg(bytes_text(report.host_peak)));
        if (const Nanoseconds waits = over_own_link(*schedule).waits; waits.value > 0)
            rows << qMakePair(tr("Waits"), tr("%1 for copies").arg(time_text(waits)));
    }
    for (const Pin& pin : s.pins)
        rows << qMakePair(tr("Pinned"), short_name(text(to_string(pin))).toHtmlEscaped());
    rows << qMakePair(s.pins.empty() ? tr("Best possible") : tr("Best under the pins"),
                      bound_text(s, session_.answers().bound_of(s)).toHtmlEscaped());
    if (s.solve_seconds > 0)
        rows << qMakePair(tr("Solved in"),
                          time_text(Nanoseconds(static_cast<std::int64_t>(s.solve_seconds * 1e9))));
    if (report.ok()) {
        rows << qMakePair(
            tr("Check"),
            QStringLiteral("<span style='color:%1'>%2</span>").arg(theme::good.name(), tr("passed")));
    }
    answer_->setText(html + rows_html(rows));
}

void SolvePanel::show_infeasible(const NoScheduleReport& report) {
    QString html = QStringLiteral("<div style='color:%1; font-weight:600'>%2</div>")
                       .arg(theme::danger.name(), report.headline.toHtmlEscaped());
    if (!report.place.isEmpty())
        html += QStringLiteral("<div style='margin-top:8px; margin-bottom:4px'>%1</div>")
                    .arg(report.place.toHtmlEscaped());
    QList<QPair<QString, QString>> rows;
    for (const auto& [name, bytes] : report.heaviest) rows << qMakePair(short_name(name), bytes);
    if (!rows.isEmpty()) html += rows_html(rows);
    if (!report.rest.isEmpty())
        html += QStringLiteral("<div style='margin-top:4px'>%1</div>").arg(report.rest.toHtmlEscaped());
    show_failure(html);
}

/// Shortens a name so that it fits beside a number when the panel has its smallest width. Qt would not break
/// a line within a path.
QString SolvePanel::short_name(const QString& name) const {
    return answer_->fontMetrics().elidedText(name, Qt::ElideMiddle, narrowest / 2);
}

void SolvePanel::show_failure(const QString& html) {
    answer_->setText(html);
    failed_budget_ = session_.budget.text();
    failed_pins_ = session_.pins.pins();
    // Scrolls later, because the new text must be laid out first.
    QTimer::singleShot(0, this, [this] { scroll_->ensureWidgetVisible(answer_, 0, 0); });
}

/// Removes a failure message if the budget or the pins have changed. If only the smallest known budget has
/// changed, the message stays.
void SolvePanel::forget_failure() {
    if (failed_budget_.isEmpty()) return;
    if (failed_budget_ != session_.budget.text() || failed_pins_ != session_.pins.pins()) show_schedule();
}

}  // namespace rematlas::explorer
