// A table of the tensors that are alive at a measured peak but not held at a plan's peak, and the reverse.
#pragma once

#include "app/explorer/models/figures_table.h"
#include "core/snapshots/peak_differences.h"

namespace rematlas::explorer {

class PeakDifferencesTable : public FiguresTable {
    Q_OBJECT
  public:
    explicit PeakDifferencesTable(QObject* parent = nullptr);

    void set_differences(std::vector<PeakDifference> differences);

  protected:
    int rows() const override { return static_cast<int>(differences_.size()); }

  private:
    const PeakDifference& at(int row) const { return differences_[static_cast<std::size_t>(row)]; }

    std::vector<PeakDifference> differences_;
};

}  // namespace rematlas::explorer
