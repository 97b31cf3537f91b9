// A table of the memory blocks that were alive at one moment of a measurement.
#pragma once

#include "app/explorer/loaded/measurement.h"
#include "app/explorer/models/figures_table.h"

namespace rematlas::explorer {

class MeasuredBlocks : public FiguresTable {
    Q_OBJECT
  public:
    explicit MeasuredBlocks(QObject* parent = nullptr);

    /// Shows the blocks alive at this moment, the largest first.
    void show_at(MeasurementPtr measurement, std::size_t device, TraceMoment moment);
    /// Returns the bytes of all blocks in the table.
    Bytes total() const { return total_; }

    /// The tooltip of a row is the whole call stack of the block's allocation.
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

  protected:
    int rows() const override { return static_cast<int>(rows_.size()); }

  private:
    const MeasuredBlock& block(int row) const;

    MeasurementPtr measurement_;
    std::size_t device_ = 0;
    std::vector<std::uint32_t> rows_;  ///< indices of the device's blocks
    Bytes total_;
};

}  // namespace rematlas::explorer
