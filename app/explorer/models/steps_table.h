// The steps of a schedule as a table, with the memory held at each: the same data as the lanes and the curve
// below them.
#pragma once

#include "app/explorer/loaded/loaded_schedule.h"
#include "app/explorer/models/figures_table.h"

namespace rematlas::explorer {

class StepsTable : public FiguresTable {
    Q_OBJECT
  public:
    enum Place { step, what, name, module, source, phase, start, time, during, after, column_count };

    using FiguresTable::FiguresTable;

    /// Shows a row for each step, in order. No rows if the schedule is null or cannot be simulated. A new
    /// schedule is shown from begin to end.
    void set_schedule(SchedulePtr schedule);
    const SchedulePtr& schedule() const { return schedule_; }
    /// Shows only the steps of this range; at the beginning all of them.
    void set_range(const StepRange& range);
    int step_of(int row) const { return row + (range_.all() ? 0 : range_.first); }
    int row_of_step(int step) const;  ///< -1: the step is not in the range, or does not exist

    Selected selected_at(int row) const override;
    /// Returns the row of the first run of the op, or of the block's first op.
    int row_of(const Selected& selected) const override;
    int rowCount(const QModelIndex& parent = {}) const override;

  protected:
    std::vector<Column> columns() const override;
    QString text_at(int row, int column) const override;
    QVariant value_at(int row, int column) const override;

  private:
    const Step& step_at(int row) const;
    QString what_happens(int row) const;
    OpId op_of(int row) const;  ///< the op that the row's step runs, or that made the row's tensor

    SchedulePtr schedule_;
    StepRange range_;
};

}  // namespace rematlas::explorer
