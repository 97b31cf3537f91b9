#include "app/explorer/docks/compare_view.h"

#include <QHBoxLayout>

#include "app/explorer/docks/compare_picture.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {
namespace {

constexpr int narrow_compare = 720;  ///< width in pixels below which the dock counts as narrow

}  // namespace

CompareView::CompareView(Session& session)
    : session_(session),
      model_(new DifferencesTable(this)),
      sorted_(new QSortFilterProxyModel(this)),
      other_(new QComboBox),
      headline_(theme::plain_label()) {
    sorted_->setSourceModel(model_);
    sorted_->setSortRole(FiguresTable::value_role);
    table_ = theme::sortable_list(*sorted_, {120, 140, 84, 84, 82, 130, 130});
    table_->setObjectName("differences");
    table_->setAccessibleName(tr("What the two plans do differently"));
    other_->setObjectName("compare_with");
    other_->setAccessibleName(tr("Plan to compare with"));
    other_->setModel(&session_.plans);
    other_->setModelColumn(PlanList::name);
    other_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    headline_->setObjectName("compare_headline");
    headline_->setWordWrap(true);
    auto* with = theme::quiet_label(tr("The shown plan &with"));
    with->setBuddy(other_);
    auto* choice = new QHBoxLayout;
    choice->setSpacing(theme::gap);
    choice->addWidget(with);
    choice->addWidget(other_);
    choice->addStretch();
    bar_ = new QBoxLayout(QBoxLayout::LeftToRight);
    bar_->setContentsMargins(theme::margin, theme::gap / 2, theme::margin, theme::gap / 2);
    bar_->setSpacing(theme::gap);
    bar_->addLayout(choice);
    bar_->addWidget(headline_, 1);
    QWidget* split = theme::split(Qt::Horizontal, new ComparePicture(session_), table_);
    QVBoxLayout* layout = theme::plain_column(this);
    layout->addLayout(bar_);
    layout->addWidget(split, 1);

    connect(other_, qOverload<int>(&QComboBox::activated), &session_, &Session::compare_with);
    connect(&session_, &Session::compared_plan_changed, this, &CompareView::follow_other);
    connect(&session_.compare, &CompareController::changed, this, &CompareView::show_compared);
    connect(table_, &QTreeView::clicked, this, [this](const QModelIndex& index) {
        session_.selection.select(model_->selected_at(sorted_->mapToSource(index).row()));
    });
    follow_other();
    show_compared();
}

/// In a narrow dock the headline has a separate line. Next to the choice of the plan the headline would need
/// several lines, and would take height from the picture.
void CompareView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    bar_->setDirection(width() < narrow_compare ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

void CompareView::follow_other() {
    other_->setCurrentIndex(session_.compared_plan());
}

void CompareView::show_compared() {
    const ComparedPtr& compared = session_.compare.compared();
    model_->set_compared(compared);
    headline_->setText(compared ? headline_of(*compared) : QString());
}

}  // namespace rematlas::explorer
