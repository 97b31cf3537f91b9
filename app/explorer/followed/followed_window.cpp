#include "app/explorer/followed/followed_window.h"

#include <QFileInfo>
#include <QScrollBar>
#include <QSortFilterProxyModel>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

constexpr std::size_t most_reasons = 3;

QLabel* bar_label(const char* name, QLabel* label) {
    label->setObjectName(name);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    return label;
}

QString last_step_told(const RunSteps& run, const RunTotals& totals) {
    const RunStep& last = run.steps.back();
    QStringList told{FollowedWindow::tr("Last step (%1): a peak of %2 in %3.")
                         .arg(text(runner_words(last.by)), bytes_text(last.peak),
                              time_text(Nanoseconds(std::llround(last.seconds * 1e9))))};
    if (last.planned_peak)
        told << FollowedWindow::tr("Its plan foretold %1.").arg(bytes_text(*last.planned_peak));
    if (run.budget && totals.over_budget > 0)
        told << FollowedWindow::tr("Steps above the budget: %1.").arg(totals.over_budget);
    if (run.budget && totals.over_budget == 0) told << FollowedWindow::tr("No step was above the budget.");
    if (totals.over_plan > 0)
        told << FollowedWindow::tr("Steps above what their plan foretold: %1.").arg(totals.over_plan);
    return told.join(' ');
}

QString reasons_told(const RunTotals& totals) {
    QStringList told;
    for (std::size_t i = 0; i < std::min(most_reasons, totals.reasons.size()); ++i)
        told << FollowedWindow::tr("%1 (steps: %2)")
                    .arg(text(totals.reasons[i].why))
                    .arg(totals.reasons[i].steps);
    if (totals.reasons.size() > most_reasons)
        told << FollowedWindow::tr("and more reasons: %1").arg(totals.reasons.size() - most_reasons);
    return FollowedWindow::tr("Why the original ran: %1").arg(told.join("; "));
}

}  // namespace

FollowedWindow::FollowedWindow(const QString& path, QWidget* parent)
    : QWidget(parent, Qt::Window),
      run_(path),
      view_(new FollowedView),
      steps_(new RunStepsTable(this)),
      headline_(bar_label("followed_headline", theme::plain_label())),
      last_(bar_label("followed_last", theme::quiet_label({}, true))),
      reasons_(bar_label("followed_reasons", theme::quiet_label({}, true))),
      failure_(bar_label("followed_failure", theme::danger_label())) {
    setObjectName("followed_window");
    setWindowTitle(tr("%1: training run").arg(QFileInfo(path).fileName()));
    resize(1100, 760);
    make_table();
    QWidget* split = theme::split(Qt::Vertical, view_, table_);
    QVBoxLayout* layout = theme::plain_column(this);
    layout->addWidget(make_bar());
    layout->addWidget(split, 1);
    connect(&run_, &FollowedRun::grew, this, &FollowedWindow::grow);
    connect(&run_, &FollowedRun::began_anew, this, &FollowedWindow::begin_anew);
    connect(&run_, &FollowedRun::failed, this, &FollowedWindow::tell_failure);
    connect(view_, &FollowedView::cursor_moved, this, &FollowedWindow::show_cursor);
    begin_anew();
}

QWidget* FollowedWindow::make_bar() {
    auto* bar = new QWidget;
    auto* column = new QVBoxLayout(bar);
    column->setContentsMargins(theme::margin, theme::gap, theme::margin, theme::gap);
    column->setSpacing(theme::gap / 2);
    for (QLabel* label : {headline_, last_, reasons_, failure_}) column->addWidget(label);
    failure_->hide();
    return bar;
}

void FollowedWindow::make_table() {
    auto* sorted = new QSortFilterProxyModel(this);
    sorted->setSourceModel(steps_);
    sorted->setSortRole(FiguresTable::value_role);
    table_ = theme::sortable_list(*sorted, {70, 170, 100, 100, 100, 90, 300});
    table_->setObjectName("followed_steps");
    table_->setAccessibleName(tr("Steps"));
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this, sorted](const QModelIndex& row) {
                if (row.isValid())
                    view_->set_cursor(static_cast<std::size_t>(sorted->mapToSource(row).row()));
            });
}

void FollowedWindow::begin_anew() {
    totaller_ = {};
    steps_->set_run(&run_.run());
    view_->set_run(run_.run());
    tell();
}

/// Shows the new steps. If the last rows of the table are in view, scrolls to the new last row.
void FollowedWindow::grow() {
    const QScrollBar* bar = table_->verticalScrollBar();
    const bool is_at_end = bar->value() == bar->maximum() && !table_->currentIndex().isValid();
    steps_->grow();
    view_->grow();
    if (is_at_end) table_->scrollToBottom();
    tell();
}

void FollowedWindow::tell() {
    const RunSteps& run = run_.run();
    const QString model = run.model.empty() ? QFileInfo(run_.path()).fileName() : text(run.model);
    QString headline = run.steps.size() == 1 ? tr("%1: 1 step").arg(model)
                                             : tr("%1: %2 steps").arg(model).arg(run.steps.size());
    if (run.budget) headline = tr("%1, a budget of %2").arg(headline, bytes_text(*run.budget));
    headline_->setText(headline);
    totaller_.add(run);
    const RunTotals& totals = totaller_.totals();
    last_->setText(run.steps.empty() ? tr("No step is over yet.") : last_step_told(run, totals));
    reasons_->setText(reasons_told(totals));
    reasons_->setVisible(!totals.reasons.empty());
    if (run.skipped > 0)
        failure_->setText(
            tr("Skipped lines: %1, the last of them %2").arg(run.skipped).arg(text(run.why_skipped)));
    failure_->setVisible(run.skipped > 0);
}

void FollowedWindow::tell_failure(const QString& message) {
    failure_->setText(message);
    failure_->show();
    if (run_.run().steps.empty()) emit failed(message);
}

void FollowedWindow::show_cursor() {
    if (!view_->cursor()) return;
    const auto* sorted = static_cast<const QSortFilterProxyModel*>(table_->model());
    const QModelIndex row = sorted->mapFromSource(steps_->index(static_cast<int>(*view_->cursor()), 0));
    table_->setCurrentIndex(row);
    table_->scrollTo(row);
}

}  // namespace rematlas::explorer
