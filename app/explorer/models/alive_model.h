// A table of the tensors that are in memory at the cursor; at the peak if there is no cursor. Each row is a
// tensor, the workspace of the op that runs, or a module.
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

    /// Sets the schedule. If it is null or cannot be simulated, there are no rows.
    void set_schedule(SchedulePtr schedule);
    /// Shows the run at `step`, or the last run before it. If `step` is -1, shows the step of the range at
    /// which the most bytes are held.
    void set_step(int step);
    void set_by_module(bool by_module);
    /// Sets the shown part of the schedule. If the cursor is outside of this part, the table shows the step
    /// of the part at which the most bytes are held.
    void set_range(const StepRange& range);

    int step() const { return step_; }
    Bytes total() const { return total_; }
    /// Returns for example "In memory while mm #12 runs, at 3.1 ms: 48 tensors, 359 KiB"; empty without a
    /// schedule.
    QString headline() const;
    TensorId tensor_at(int row) const;  ///< invalid for workspaces and modules
    OpId op_at(int row) const;          ///< the op that made the tensor or has the workspace; invalid for
                                        ///< residents and modules

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  private:
    /// A tensor, the workspace of the op that runs, or a module with the tensors that it made.
    struct Row {
        enum class Kind : std::uint8_t { tensor, workspace, module };
        Kind kind = Kind::tensor;
        Bytes bytes;
        OpId op;            ///< the op that made the tensor, or the op whose workspace this is
        AliveTensor alive;  ///< only for a tensor
        QString module;     ///< only for a module: its path
        int tensors = 0;    ///< only for a module: the number of its tensors
    };
    void refill();
    void sum_by_module();
    QString module_of(const Row& row) const;
    int born_step(const Row& row) const;
    /// Makes the text of a cell. Texts are only made for cells that are shown, which are few of thousands of
    /// rows.
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
