#include "app/explorer/models/plan_filter.h"

namespace rematlas::explorer {

PlanFilter::PlanFilter(PlanList& plans, QObject* parent) : QSortFilterProxyModel(parent), plans_(plans) {
    setSourceModel(&plans);
    setSortRole(PlanList::sort_role);
    for (const auto signal : {&PlanList::rowsInserted, &PlanList::rowsRemoved})
        connect(&plans, signal, this, &PlanFilter::swept_changed);
    connect(&plans, &PlanList::modelReset, this, &PlanFilter::swept_changed);
    connect(&plans, &PlanList::plan_renamed, this, &PlanFilter::refilter);
    connect(&plans, &PlanList::shown_changed, this, &PlanFilter::refilter);
}

void PlanFilter::show_swept(bool shown) {
    shows_swept_ = shown;
    refilter();
}

int PlanFilter::swept() const {
    int count = 0;
    for (int row = 0; row < plans_.rowCount(); ++row) count += is_one_of_many(row);
    return count;
}

bool PlanFilter::filterAcceptsRow(int row, const QModelIndex&) const {
    return shows_swept_ || !is_one_of_many(row);
}

bool PlanFilter::is_one_of_many(int row) const {
    const PlanRow& plan = plans_.plan(row);
    return plan.origin == PlanRow::Origin::swept && !plan.starred && row != plans_.shown();
}

void PlanFilter::refilter() {
    invalidateFilter();
    emit swept_changed();
}

}  // namespace rematlas::explorer
