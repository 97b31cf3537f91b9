// The table of what is in memory at the cursor, or at the peak where there is none: a tensor a row, or a module.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <memory>
#include <vector>

#include "app/explorer/session/alive_now.h"

namespace rematlas::explorer {

class AliveModel : public QAbstractTableModel {
    Q_OBJECT
  public:
    enum Column { what, bytes, share, module, born, why, column_count };
    static constexpr int sort_role = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;

    /// Null, or one that cannot be played: no rows.
    void set_schedule(SchedulePtr schedule);
    /// The run step at or before it; -1: the step at the peak.
    void set_step(int step);
    void set_by_module(bool by_module);

    int step() const { return step_; }
    Bytes total() const { return total_; }
    /// "while mm #12 runs, at 3.1 ms: 48 tensors, 359 KiB"; empty without a schedule.
    QString headline() const;
    OpId op_at(int row) const;  ///< that made the tensor; invalid for residents and modules

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  private:
    struct Row {
        QString what, module, born, why;
        Bytes bytes;
        int born_step = -1;
        OpId op;
    };
    void refill();
    Row row_of(const AliveTensor& alive) const;
    void sum_by_module();

    SchedulePtr schedule_;
    std::unique_ptr<Lifetimes> lifetimes_;
    int asked_ = -1, step_ = -1;
    bool by_module_ = false;
    std::size_t tensors_ = 0;
    Bytes total_;
    std::vector<Row> rows_;
};

}  // namespace rematlas::explorer
