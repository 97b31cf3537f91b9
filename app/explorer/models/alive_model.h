// The table of what is in memory at the cursor, or at the peak where there is none: a tensor a row, or a
// module.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <memory>
#include <vector>

#include "app/explorer/models/alive_now.h"

namespace rematlas::explorer {

class AliveModel : public QAbstractTableModel {
    Q_OBJECT
  public:
    enum Column { what, bytes, share, shape, module, source, born, why, column_count };
    static constexpr int sort_role = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;

    /// Null, or one that cannot be played: no rows.
    void set_schedule(SchedulePtr schedule);
    /// The run step at or before it; -1: the step at which the most is held.
    void set_step(int step);
    void set_by_module(bool by_module);
    /// The part that is looked at: where the cursor is not in it, it stands where the part holds the most.
    void set_range(const StepRange& range);

    int step() const { return step_; }
    Bytes total() const { return total_; }
    /// "while mm #12 runs, at 3.1 ms: 48 tensors, 359 KiB"; empty without a schedule.
    QString headline() const;
    TensorId tensor_at(int row) const;  ///< invalid for workspaces and modules
    OpId op_at(int row) const;          ///< that made the tensor; invalid for residents and modules

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  private:
    /// A tensor, the workspace of the op that runs, or a module with what it holds.
    struct Row {
        enum class Kind : std::uint8_t { tensor, workspace, module };
        Kind kind = Kind::tensor;
        Bytes bytes;
        OpId op;            ///< that made the tensor, or runs
        AliveTensor alive;  ///< of a tensor
        QString module;     ///< of a module
        int tensors = 0;    ///< the same
    };
    void refill();
    void sum_by_module();
    QString module_of(const Row& row) const;
    int born_step(const Row& row) const;
    /// Texts are made when they are asked for: of thousands of rows a table shows some.
    QString text_at(const Row& row, int column) const;

    SchedulePtr schedule_;
    std::unique_ptr<TensorLifetimes> lifetimes_;
    int asked_ = -1, step_ = -1;
    StepRange range_;
    bool by_module_ = false;
    std::size_t tensors_ = 0;
    Bytes total_;
    std::vector<Row> rows_;
};

}  // namespace rematlas::explorer
