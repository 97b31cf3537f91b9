// The points of a sweep as a table. The table shows the data of the trade-off plot.
#pragma once

#include "app/explorer/models/figures_table.h"
#include "core/planning/sweep.h"

namespace rematlas::explorer {

class SweepTable : public FiguresTable {
    Q_OBJECT
  public:
    enum Place { solver, budget, status, peak, overhead, bound, column_count };

    using FiguresTable::FiguresTable;

    /// Shows a row for each point, one curve after the other. Budgets that no schedule fits have rows, too.
    void set_sweep(const Sweep& sweep);
    int curve_at(int row) const { return rows_[static_cast<std::size_t>(row)].curve; }
    int point_at(int row) const { return rows_[static_cast<std::size_t>(row)].point; }

    Selected selected_at(int) const override { return {}; }
    int row_of(const Selected&) const override { return -1; }
    int rowCount(const QModelIndex& parent = {}) const override;

  protected:
    std::vector<Column> columns() const override;
    QString text_at(int row, int column) const override;
    QVariant value_at(int row, int column) const override;

  private:
    struct Row {
        int curve = 0, point = 0;
        QString solver;
        SweepPoint figures;  ///< the point without its steps
    };
    std::vector<Row> rows_;
};

}  // namespace rematlas::explorer
