// The list shows plans sorted, and without those that sweeps found by the dozen, until these are asked for.
#pragma once

#include <QSortFilterProxyModel>

#include "app/explorer/models/plan_list.h"

namespace rematlas::explorer {

class PlanFilter : public QSortFilterProxyModel {
    Q_OBJECT
  public:
    explicit PlanFilter(PlanList& plans, QObject* parent = nullptr);

    /// A sweep's plan that has a star, or is shown, is in the list anyway.
    void show_swept(bool shown);
    bool shows_swept() const { return shows_swept_; }
    /// How many plans are left out, or would be.
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
