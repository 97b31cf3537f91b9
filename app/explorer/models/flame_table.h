// The boxes of a flame chart as a table. A box comes after the box that contains it.
#pragma once

#include "app/explorer/models/figures_table.h"
#include "app/explorer/models/flame_chart.h"

namespace rematlas::explorer {

class FlameTable : public FiguresTable {
    Q_OBJECT
  public:
    FlameTable();

    /// Shows a row for each box of the chart. Shows no rows if `chart` is null.
    void set_chart(FlameChartPtr chart);

    Selected selected_at(int row) const override { return selected_of(*chart_, row); }
    int row_of(const Selected& selected) const override {
        return chart_ ? box_of(*chart_, selected, -1) : -1;
    }

  protected:
    int rows() const override { return static_cast<int>(sums_.size()); }

  private:
    const FlameBox& box(int row) const { return chart_->data.box(row); }
    const FlameSums& sums(int row) const { return sums_[static_cast<std::size_t>(row)]; }
    const Graph& graph() const { return chart_->schedule->graph->graph; }
    /// Returns the first run of the row's box.
    const FlameRun& first(int row) const { return chart_->data.run(box(row).first); }

    FlameChartPtr chart_;
    std::vector<FlameSums> sums_;  ///< the sums of each row's box
};

}  // namespace rematlas::explorer
