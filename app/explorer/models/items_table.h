// The items of the ladder graph as a table: ops and collapsed blocks, in execution order.
#pragma once

#include "app/explorer/jobs/ladder_controller.h"
#include "app/explorer/models/figures_table.h"

namespace rematlas::explorer {

class ItemsTable : public FiguresTable {
    Q_OBJECT
  public:
    ItemsTable();

    /// Shows a row for each item of the ladder. Shows no rows if `ladder` is null.
    void set_ladder(LadderPtr ladder);

    Selected selected_at(int row) const override { return selected_of(at(row)); }
    /// Returns the row of the item that shows the selected op. For a block, returns the row of its first
    /// item.
    int row_of(const Selected& selected) const override;

  protected:
    int rows() const override { return ladder_ ? static_cast<int>(ladder_->view.items.size()) : 0; }

  private:
    const BlockViewItem& at(int row) const { return ladder_->view.items[static_cast<std::size_t>(row)]; }

    LadderPtr ladder_;
};

}  // namespace rematlas::explorer
