// The tensors that are held at the cursor as a table. Each row is a tensor and has the data of its bar.
#pragma once

#include "app/explorer/models/figures_table.h"
#include "app/explorer/models/lifetime_rows.h"

namespace rematlas::explorer {

class LifetimesTable : public FiguresTable {
    Q_OBJECT
  public:
    enum Place { name, shape, bytes, made, maker, reads, freed, idle, source, column_count };

    using FiguresTable::FiguresTable;

    /// Shows a row for each bar; no rows if `schedule` is null.
    void set_bars(SchedulePtr schedule, LifetimeBars bars);

    Selected selected_at(int row) const override;
    int row_of(const Selected& selected) const override;
    int rowCount(const QModelIndex& parent = {}) const override;

  protected:
    std::vector<Column> columns() const override;
    QString text_at(int row, int column) const override;
    QVariant value_at(int row, int column) const override;

  private:
    const LifetimeBar& bar_at(int row) const { return bars_.bars[static_cast<std::size_t>(row)]; }
    QString start_of(int step) const;

    SchedulePtr schedule_;
    LifetimeBars bars_;
};

}  // namespace rematlas::explorer
