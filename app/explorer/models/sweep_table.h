// The points of a sweep as a table. The table shows the data of the trade-off plot.
#pragma once

#include "app/explorer/models/figures_table.h"
#include "core/planning/sweep.h"

namespace rematlas::explorer {

class SweepTable : public FiguresTable {
    Q_OBJECT
  public:
    SweepTable();

    /// Shows a row for each point, one curve after the other. Budgets that no schedule fits have rows, too.
    void set_sweep(const Sweep& sweep);
    int curve_at(int row) const { return at(row).curve; }
    int point_at(int row) const { return at(row).point; }

  protected:
    int rows() const override { return static_cast<int>(rows_.size()); }

  private:
    struct Row {
        int curve = 0, point = 0;
        QString solver;
        SweepPoint figures;  ///< the point without its steps
    };
    const Row& at(int row) const { return rows_[static_cast<std::size_t>(row)]; }

    std::vector<Row> rows_;
};

}  // namespace rematlas::explorer
