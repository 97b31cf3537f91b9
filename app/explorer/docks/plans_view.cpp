#include "app/explorer/docks/plans_view.h"

#include <QHBoxLayout>
#include <QHeaderView>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

PlansView::PlansView(Session& session)
    : session_(session),
      sorted_(new PlanFilter(session.plans, this)),
      swept_(theme::boxed_button({}, tr("Plans that sweeps found: each is a point under Trade-off, too. A "
                                        "star keeps one in the list."))),
      back_(new QAction(theme::icon("back"), tr("Plan shown be&fore"), this)),
      forward_(new QAction(theme::icon("forward"), tr("Plan shown &after"), this)),
      remove_(new QAction(theme::icon("cancel"), tr("&Remove the plan"), this)),
      undo_(new QAction(theme::icon("undo"), tr("&Undo the removal"), this)),
      rename_(new QAction(tr("Rename the pla&n"), this)),
      compare_(new QAction(tr("Compare the shown plan with &it"), this)) {
    setMinimumWidth(200);
    back_->setShortcut(QKeySequence("Alt+Left"));
    forward_->setShortcut(QKeySequence("Alt+Right"));
    undo_->setShortcut(QKeySequence::Undo);
    remove_->setShortcut(QKeySequence::Delete);
    remove_->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    rename_->setShortcut(Qt::Key_F2);
    rename_->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    compare_->setShortcut(QKeySequence("Ctrl+D"));
    compare_->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    addActions({remove_, rename_, compare_});

    table_ = theme::sortable_list(*sorted_, {24, 66, 74, 88, 82, 76, 92, 68});
    table_->setObjectName("plans");
    table_->setAccessibleName(tr("Plans"));
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table_->setContextMenuPolicy(Qt::CustomContextMenu);
    table_->header()->setStretchLastSection(false);

    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(theme::gap, theme::gap / 2, theme::gap, theme::gap / 2);
    for (QAction* action : {back_, forward_, undo_}) {
        auto* button = new QToolButton;
        button->setDefaultAction(action);
        button->setIconSize(QSize(16, 16));
        bar->addWidget(button);
    }
    bar->addStretch();
    swept_->setObjectName("swept_plans");
    swept_->setCheckable(true);
    bar->addWidget(swept_);
    QVBoxLayout* layout = theme::plain_column(this);
    layout->addLayout(bar);
    layout->addWidget(table_);
    table_->setMinimumHeight(theme::least_list);

    connect_all();
}

void PlansView::connect_all() {
    connect(back_, &QAction::triggered, this, [this] { session_.plans.go(-1); });
    connect(forward_, &QAction::triggered, this, [this] { session_.plans.go(1); });
    connect(undo_, &QAction::triggered, &session_.plans, &PlanList::undo_remove);
    connect(remove_, &QAction::triggered, this, &PlansView::remove_current);
    connect(rename_, &QAction::triggered, this,
            [this] { table_->edit(table_->currentIndex().siblingAtColumn(PlanList::name)); });
    connect(compare_, &QAction::triggered, this, [this] {
        if (current_row() == PlanList::none) return;
        session_.compare_with(current_row());
        emit comparison_asked();
    });
    connect(table_, &QTreeView::clicked, this, [this](const QModelIndex& index) {
        const int row = sorted_->mapToSource(index).row();
        if (index.column() == PlanList::star)
            session_.plans.set_starred(row, !session_.plans.plan(row).starred);
        else
            session_.choose_plan(row);
    });
    connect(table_, &QTreeView::activated, this, &PlansView::show_current);
    connect(table_, &QTreeView::customContextMenuRequested, this, &PlansView::show_menu);
    connect(&session_.plans, &PlanList::shown_changed, this, &PlansView::follow_shown);
    connect(swept_, &QToolButton::toggled, sorted_, &PlanFilter::show_swept);
    connect(sorted_, &PlanFilter::swept_changed, this, &PlansView::update_actions);
    for (const auto signal : {&PlanList::rowsInserted, &PlanList::rowsRemoved})
        connect(&session_.plans, signal, this, &PlansView::update_actions);
    connect(&session_.plans, &PlanList::modelReset, this, &PlansView::update_actions);
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &PlansView::update_actions);
    update_actions();
}

void PlansView::add_actions_to(QMenu& menu) {
    menu.addSeparator();
    menu.addActions({back_, forward_, compare_, rename_, remove_, undo_});
    menu.addSeparator();
}

int PlansView::current_row() const {
    const QModelIndex index = sorted_->mapToSource(table_->currentIndex());
    return index.isValid() ? index.row() : PlanList::none;
}

void PlansView::show_current() {
    if (current_row() != PlanList::none) session_.choose_plan(current_row());
}

/// Removes the current plan. The step without recomputation cannot be removed, because all other plans are
/// compared with it.
void PlansView::remove_current() {
    const int row = current_row();
    if (row == PlanList::none || session_.plans.plan(row).origin == PlanRow::Origin::all_kept) return;
    session_.plans.remove(row);
    update_actions();
}

void PlansView::show_menu(const QPoint& position) {
    if (!table_->indexAt(position).isValid()) return;
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(tr("Show"), this, &PlansView::show_current);
    menu->addActions({compare_, rename_, remove_});
    menu->popup(table_->viewport()->mapToGlobal(position));
}

void PlansView::follow_shown() {
    const int row = session_.plans.shown();
    if (row != PlanList::none) {
        const QModelIndex index = sorted_->mapFromSource(session_.plans.index(row, PlanList::name));
        table_->setCurrentIndex(index);
        table_->scrollTo(index);
    }
    update_actions();
}

void PlansView::update_actions() {
    back_->setEnabled(session_.plans.can_go(-1));
    forward_->setEnabled(session_.plans.can_go(1));
    undo_->setEnabled(session_.plans.can_undo());
    const bool chosen = current_row() != PlanList::none;
    const bool is_step = chosen && session_.plans.plan(current_row()).origin == PlanRow::Origin::all_kept;
    compare_->setEnabled(chosen);
    rename_->setEnabled(chosen);
    remove_->setEnabled(chosen && !is_step);
    swept_->setVisible(sorted_->swept() > 0);
    swept_->setText(tr("%1 of sweeps").arg(sorted_->swept()));
}

}  // namespace rematlas::explorer
