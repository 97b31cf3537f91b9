// The differences between two plans as a table. Each row is an op, with what the difference costs.
#pragma once

#include "app/explorer/jobs/compare_controller.h"
#include "app/explorer/models/figures_table.h"

namespace rematlas::explorer {

class DifferencesTable : public FiguresTable {
    Q_OBJECT
  public:
    enum Place { name, module, runs_a, runs_b, time, peak_a, peak_b, column_count };

    using FiguresTable::FiguresTable;

    /// Shows a row for each op that the plans treat differently. Shows no rows if `compared` is null.
    void set_compared(ComparedPtr compared);

    Selected selected_at(int row) const override;
    int row_of(const Selected& selected) const override;
    int rowCount(const QModelIndex& parent = {}) const override;

  protected:
    std::vector<Column> columns() const override;
    QString text_at(int row, int column) const override;
    QVariant value_at(int row, int column) const override;

  private:
    const OpDifference& at(int row) const { return compared_->found.ops[static_cast<std::size_t>(row)]; }

    ComparedPtr compared_;
};

}  // namespace rematlas::explorer
