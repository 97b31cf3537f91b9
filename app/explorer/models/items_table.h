// The items of the ladder graph as a table: ops and collapsed blocks, in execution order.
#pragma once

#include "app/explorer/jobs/ladder_controller.h"
#include "app/explorer/models/figures_table.h"

namespace rematlas::explorer {

class ItemsTable : public FiguresTable {
    Q_OBJECT
  public:
    enum Place { name, phase, ops, made, kept, recomputed, offloaded, time, runs, decision, column_count };

    using FiguresTable::FiguresTable;

    /// Shows a row for each item of the ladder. Shows no rows if `ladder` is null.
    void set_ladder(LadderPtr ladder);

    Selected selected_at(int row) const override;
    /// Returns the row of the item that shows the selected op. For a block, returns the row of its first
    /// item.
    int row_of(const Selected& selected) const override;
    int rowCount(const QModelIndex& parent = {}) const override;

  protected:
    std::vector<Column> columns() const override;
    QString text_at(int row, int column) const override;
    QVariant value_at(int row, int column) const override;

  private:
    const BlockViewItem& item_at(int row) const;

    LadderPtr ladder_;
};

}  // namespace rematlas::explorer
