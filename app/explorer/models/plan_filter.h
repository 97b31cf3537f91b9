// Sorts the plans. Hides the plans of sweeps, which are many, until the user asks for them.
#pragma once

#include <QSortFilterProxyModel>

#include "app/explorer/models/plan_list.h"

namespace rematlas::explorer {

class PlanFilter : public QSortFilterProxyModel {
    Q_OBJECT
  public:
    explicit PlanFilter(PlanList& plans, QObject* parent = nullptr);

    /// Sets whether the plans of sweeps are shown. Starred plans and the plan that all views show are never
    /// hidden.
    void show_swept(bool shown);
    /// Returns the number of plans that are hidden if the plans of sweeps are not shown.
    int swept() const;

  signals:
    void swept_changed();

  protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

  private:
    bool is_one_of_many(int row) const;
    void refilter();

    PlanList& plans_;
    bool shows_swept_ = false;
};

}  // namespace rematlas::explorer
