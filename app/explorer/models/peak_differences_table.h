// A table of the tensors that are alive at a measured peak but not held at a plan's peak, and the reverse.
#pragma once

#include "app/explorer/models/figures_table.h"
#include "core/snapshots/peak_differences.h"

namespace rematlas::explorer {

class PeakDifferencesTable : public FiguresTable {
    Q_OBJECT
  public:
    enum Place { side, bytes, blocks, names, column_count };

    using FiguresTable::FiguresTable;

    void set_differences(std::vector<PeakDifference> differences);

    Selected selected_at(int) const override { return {}; }
    int row_of(const Selected&) const override { return -1; }
    int rowCount(const QModelIndex& parent = {}) const override;

  protected:
    std::vector<Column> columns() const override;
    QString text_at(int row, int column) const override;
    QVariant value_at(int row, int column) const override;

  private:
    std::vector<PeakDifference> differences_;
};

}  // namespace rematlas::explorer
