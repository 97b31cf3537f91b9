// The tensors that are held at the cursor as a table. Each row has the data of one bar.
#pragma once

#include "app/explorer/models/figures_table.h"
#include "app/explorer/models/lifetime_rows.h"

namespace rematlas::explorer {

class LifetimesTable : public FiguresTable {
    Q_OBJECT
  public:
    LifetimesTable();

    /// Shows a row for each bar; no rows if `schedule` is null.
    void set_bars(SchedulePtr schedule, LifetimeBars bars);

    Selected selected_at(int row) const override;
    int row_of(const Selected& selected) const override;

  protected:
    int rows() const override { return schedule_ ? static_cast<int>(bars_.bars.size()) : 0; }

  private:
    const LifetimeBar& at(int row) const { return bars_.bars[static_cast<std::size_t>(row)]; }
    Nanoseconds start_of(int step) const;

    SchedulePtr schedule_;
    LifetimeBars bars_;
    std::size_t unused_ = 0;  ///< index of the column whose unit depends on the axis
};

}  // namespace rematlas::explorer
