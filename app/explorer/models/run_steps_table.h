// The steps of a training run as a table, which grows with the run.
#pragma once

#include "app/explorer/models/figures_table.h"
#include "core/planning/run_steps.h"

namespace rematlas::explorer {

class RunStepsTable : public FiguresTable {
    Q_OBJECT
  public:
    enum Place { step, by, peak, foretold, beyond, seconds, why, column_count };

    using FiguresTable::FiguresTable;

    /// `run` must outlive the table, or be replaced before it is destroyed. Shows no rows if it is null.
    void set_run(const RunSteps* run);
    /// Adds rows for new steps of the run.
    void grow();

    Selected selected_at(int) const override { return {}; }
    int row_of(const Selected&) const override { return -1; }
    int rowCount(const QModelIndex& parent = {}) const override;

  protected:
    std::vector<Column> columns() const override;
    QString text_at(int row, int column) const override;
    QVariant value_at(int row, int column) const override;

  private:
    const RunSteps* run_ = nullptr;
    int rows_ = 0;
};

}  // namespace rematlas::explorer
