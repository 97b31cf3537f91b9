#include "app/explorer/docks/alive_view.h"

#include <QHBoxLayout>
#include <QToolButton>

#include "app/explorer/look/pin_menu.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

AliveView::AliveView(Session& session)
    : session_(session),
      model_(new AliveModel(this)),
      sorted_(new QSortFilterProxyModel(this)),
      headline_(theme::quiet_label({}, true)) {
    setMinimumWidth(200);
    sorted_->setSourceModel(model_);
    sorted_->setSortRole(AliveModel::sort_role);
    table_ = theme::sortable_list(*sorted_, {150, 74, 62, 110, 130, 90, 72, 180});
    table_->setObjectName("alive");
    table_->setAccessibleName(tr("What is in memory"));
    headline_->setObjectName("alive_headline");

    QToolButton* peak =
        theme::boxed_button(tr("Go to peak"), tr("Puts the cursor where the most memory is held"));
    QToolButton* modules = theme::boxed_button(tr("By module"));
    modules->setObjectName("alive_by_module");
    modules->setCheckable(true);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(theme::gap, theme::gap / 2, theme::gap, theme::gap / 2);
    QToolButton* lifetimes = theme::boxed_button(
        tr("Lifetimes"),
        tr("Shows from when to when each tensor is held, and what reads it (Enter on a row: with that "
           "tensor)"));
    lifetimes->setObjectName("alive_lifetimes");
    bar->addStretch();
    bar->addWidget(lifetimes);
    bar->addWidget(modules);
    bar->addWidget(peak);
    QVBoxLayout* layout = theme::plain_column(this);
    headline_->setContentsMargins(theme::margin, theme::gap, theme::margin, 0);
    layout->addWidget(headline_);
    layout->addLayout(bar);
    layout->addWidget(table_);

    connect(peak, &QToolButton::clicked, this, &AliveView::go_to_peak);
    connect(modules, &QToolButton::toggled, this, [this](bool on) { model_->set_by_module(on); });
    connect(table_, &QTreeView::clicked, this, [this](const QModelIndex& index) {
        const OpId op = model_->op_at(sorted_->mapToSource(index).row());
        if (op.valid()) session_.selection.select(Selected::of(op));
    });
    connect(table_, &QTreeView::activated, this, &AliveView::ask_lifetimes);
    connect(lifetimes, &QToolButton::clicked, this, [this] { ask_lifetimes(table_->currentIndex()); });
    open_pin_menu_on(*table_, session_);
    connect(&session_, &Session::schedule_changed, this, &AliveView::follow);
    connect(&session_.selection, &Selection::cursor_moved, this, [this](int step) {
        model_->set_step(step);
        show_headline();
    });
    connect(&session_.selection, &Selection::range_changed, this, [this](const StepRange& range) {
        model_->set_range(range);
        show_headline();
    });
    follow();
}

void AliveView::follow() {
    model_->set_schedule(session_.schedule());
    show_headline();
}

void AliveView::show_headline() {
    headline_->setText(model_->step() < 0 ? tr("What a schedule holds in memory appears here.")
                                          : model_->headline());
}

/// Asks the lifetimes dock to show all tensors that are held, and to highlight the tensor of the row.
void AliveView::ask_lifetimes(const QModelIndex& index) {
    const int row = index.isValid() ? sorted_->mapToSource(index).row() : -1;
    session_.selection.ask_lifetimes({.tensor = row < 0 ? TensorId() : model_->tensor_at(row)});
}

void AliveView::go_to_peak() {
    const SchedulePtr& schedule = session_.schedule();
    if (!schedule || schedule->simulation.steps.empty()) return;
    const auto step = static_cast<int>(schedule->simulation.peak_step);
    session_.selection.set_cursor(step);
    const Step& at = schedule->schedule.steps[static_cast<std::size_t>(step)];
    if (at.runs()) session_.selection.select(Selected::of(at.op()));
}

}  // namespace rematlas::explorer
