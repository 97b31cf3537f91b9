// The block tree of a graph as an item model: blocks with their ops as leaves, in execution order.
#pragma once

#include <QAbstractItemModel>
#include <vector>

#include "app/explorer/loaded/loaded_schedule.h"
#include "app/explorer/loaded/selection.h"
#include "app/explorer/models/block_sums.h"

namespace rematlas::explorer {

class BlockTreeModel : public QAbstractItemModel {
    Q_OBJECT
  public:
    enum Column { name, peak, fate, extra, time, ops, made, repeats, kind, column_count };
    enum Role {
        sort_role = Qt::UserRole,  ///< number or text by which the rows are sorted
        search_role,               ///< path and operator name, for the search field
        decision_role,             ///< a Decision as int; -1 without a schedule
        phase_role,                ///< a Phase as int
        share_role,  ///< the row's share of the bytes held at the peak, 0 to 1; negative without a schedule
        fate_role,   ///< three numbers: the bytes kept, recomputed and offloaded; empty without a schedule
    };

    explicit BlockTreeModel(QObject* parent = nullptr);

    void set_graph(GraphPtr graph);
    /// Sets the schedule. If it is null or of another graph, the columns about the schedule are empty. Emits
    /// `dataChanged` only for the top rows; this means that all rows below them have changed, too.
    void set_schedule(SchedulePtr schedule);
    /// Sets the part of the schedule over which the columns sum up. At first this is the whole schedule.
    void set_range(const StepRange& range);

    /// Returns the block or op of the row.
    Selected selected_at(const QModelIndex& index) const;
    QModelIndex index_of(const Selected& selected) const;

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& child) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  private:
    struct Node {
        int parent = -1;
        int row = 0;
        BlockId block;
        OpId op = {};  ///< invalid if the node is a block
        std::vector<int> children = {};
    };
    void add_children(int node);
    const Node& node_at(const QModelIndex& index) const;
    QModelIndex index_of_node(int node, int column = 0) const;
    QVariant display(const Node& node, int column) const;
    QVariant sort_key(const Node& node, int column) const;
    QString tool_tip(const Node& node) const;
    const BlockSum& sum_of(const Node& node) const;

    GraphPtr graph_;
    SchedulePtr schedule_;
    std::vector<Node> nodes_;  ///< node 0 is the invisible root
    IdVector<BlockId, int> node_of_block_;
    IdVector<OpId, int> node_of_op_;
    StepRange range_;
    BlockSums sums_;  ///< empty without a schedule
};

}  // namespace rematlas::explorer
