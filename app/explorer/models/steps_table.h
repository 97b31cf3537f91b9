// The steps of a schedule as a table, with the memory held at each: the twin of the lanes and of the curve
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

    /// Null, or one that cannot be played: no rows. A row is a step, in their order; a new schedule is shown
    /// whole.
    void set_schedule(SchedulePtr schedule);
    const SchedulePtr& schedule() const { return schedule_; }
    /// Rows for this part of the schedule alone; from the beginning for all of it.
    void set_range(const StepRange& range);
    int step_of(int row) const { return row + (range_.all() ? 0 : range_.first); }
    int row_of_step(int step) const;  ///< -1: not in the part, or there is none

    Selected selected_at(int row) const override;
    /// The first run of an op, or of the ops of a block.
    int row_of(const Selected& selected) const override;
    int rowCount(const QModelIndex& parent = {}) const override;

  protected:
    std::vector<Column> columns() const override;
    QString text_at(int row, int column) const override;
    QVariant value_at(int row, int column) const override;

  private:
    const Step& step_at(int row) const;
    QString what_happens(int row) const;
    OpId op_of(int row) const;  ///< that runs, or made the tensor

    SchedulePtr schedule_;
    StepRange range_;
};

}  // namespace rematlas::explorer
