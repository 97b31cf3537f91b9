// The boxes of a flame chart as a table. A box comes after the box that contains it.
#pragma once

#include "app/explorer/models/figures_table.h"
#include "app/explorer/models/flame_chart.h"

namespace rematlas::explorer {

class FlameTable : public FiguresTable {
    Q_OBJECT
  public:
    enum Place { name, module, level, runs, again, start, time, share, made, held, source, column_count };

    using FiguresTable::FiguresTable;

    /// Shows a row for each box of the chart. Shows no rows if `chart` is null.
    void set_chart(FlameChartPtr chart);

    Selected selected_at(int row) const override;
    int row_of(const Selected& selected) const override;
    int rowCount(const QModelIndex& parent = {}) const override;

  protected:
    std::vector<Column> columns() const override;
    QString text_at(int row, int column) const override;
    QVariant value_at(int row, int column) const override;

  private:
    FlameChartPtr chart_;
    std::vector<FlameSums> sums_;  ///< the sums of each row's box
};

}  // namespace rematlas::explorer
