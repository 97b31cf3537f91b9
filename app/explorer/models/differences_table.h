// The differences between two plans as a table. Each row shows an op and the cost of the difference.
#pragma once

#include "app/explorer/jobs/compare_controller.h"
#include "app/explorer/models/figures_table.h"

namespace rematlas::explorer {

class DifferencesTable : public FiguresTable {
    Q_OBJECT
  public:
    explicit DifferencesTable(QObject* parent = nullptr);

    /// Shows a row for each op that the plans treat differently. Shows no rows if `compared` is null.
    void set_compared(ComparedPtr compared);

    Selected selected_at(int row) const override { return Selected::of(at(row).op); }
    int row_of(const Selected& selected) const override;

  protected:
    int rows() const override { return compared_ ? static_cast<int>(compared_->found.ops.size()) : 0; }

  private:
    void set_columns();
    const OpDifference& at(int row) const { return compared_->found.ops[static_cast<std::size_t>(row)]; }

    ComparedPtr compared_;
};

}  // namespace rematlas::explorer
