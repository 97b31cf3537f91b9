// The steps of a schedule as a table, with the memory that is held at each step. The table shows the data of
// the lanes and of the memory curve.
#pragma once

#include "app/explorer/loaded/loaded_schedule.h"
#include "app/explorer/models/figures_table.h"

namespace rematlas::explorer {

class StepsTable : public FiguresTable {
    Q_OBJECT
  public:
    StepsTable();

    /// Shows a row for each step, in order. Shows no rows if the schedule is null or cannot be simulated.
    /// Resets the range to the whole schedule.
    void set_schedule(SchedulePtr schedule);
    const SchedulePtr& schedule() const { return schedule_; }
    /// Shows only the steps of this range. At first all steps are shown.
    void set_range(const StepRange& range);
    int step_of(int row) const { return row + (range_.all() ? 0 : range_.first); }
    int row_of_step(int step) const;  ///< -1 if the step is not in the range, or does not exist

    Selected selected_at(int row) const override { return Selected::of(op_of(row)); }
    /// Returns the first row with a run of the selected op; for a block, of the block's first op. Returns -1
    /// if there is none.
    int row_of(const Selected& selected) const override;

  protected:
    int rows() const override;

  private:
    const Step& step_at(int row) const;
    const StepTrace& trace_at(int row) const;
    QString what_happens(int row) const;
    OpId op_of(int row) const;  ///< the op that the row's step runs, or that made the row's tensor

    SchedulePtr schedule_;
    StepRange range_;
};

}  // namespace rematlas::explorer
