#include "app/explorer/models/block_tree_model.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <algorithm>

#include "app/explorer/models/block_filter_model.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

int count_rows(const QAbstractItemModel& model, const QModelIndex& parent = {}) {
    int rows = 0;
    for (int row = 0; row < model.rowCount(parent); ++row)
        rows += 1 + count_rows(model, model.index(row, 0, parent));
    return rows;
}

QModelIndex find(const QAbstractItemModel& model, const QString& name, const QModelIndex& parent = {}) {
    for (int row = 0; row < model.rowCount(parent); ++row) {
        const QModelIndex index = model.index(row, 0, parent);
        if (index.data().toString() == name) return index;
        const QModelIndex inner = find(model, name, index);
        if (inner.isValid()) return inner;
    }
    return {};
}

TEST(BlockTreeModel, IsAConsistentItemModelBeforeAndAfterLoading) {
    BlockTreeModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    EXPECT_EQ(model.rowCount(), 0);
    model.set_graph(loaded_chain(4));
    EXPECT_GT(model.rowCount(), 0);
    model.set_graph(loaded_chain(7));
    model.set_graph(nullptr);
    EXPECT_EQ(model.rowCount(), 0);
}

TEST(BlockTreeModel, ShowsEveryBlockAndEveryOpOnce) {
    const GraphPtr graph = loaded_chain(5);
    BlockTreeModel model;
    model.set_graph(graph);
    EXPECT_EQ(count_rows(model), static_cast<int>(graph->graph.blocks.size() + graph->graph.ops.size()));
    for (OpId op : graph->graph.ops.ids()) {
        const QModelIndex index = model.index_of(Selected::of(op));
        ASSERT_TRUE(index.isValid());
        EXPECT_EQ(model.selected_at(index), Selected::of(op));
    }
    for (BlockId block : graph->graph.blocks.ids()) {
        EXPECT_EQ(model.selected_at(model.index_of(Selected::of(block))), Selected::of(block));
    }
}

TEST(BlockTreeModel, AddsUpOpsBytesAndTimeOfABlock) {
    BlockTreeModel model;
    model.set_graph(loaded_chain(5));
    const QModelIndex forward = find(model, "forward");
    ASSERT_TRUE(forward.isValid());
    EXPECT_EQ(forward.siblingAtColumn(BlockTreeModel::ops).data().toString(), "10");
    EXPECT_EQ(forward.siblingAtColumn(BlockTreeModel::made).data(BlockTreeModel::sort_role).toLongLong(),
              10 << 20);
    EXPECT_EQ(forward.siblingAtColumn(BlockTreeModel::time).data(BlockTreeModel::sort_role).toLongLong(),
              10000);
}

TEST(BlockTreeModel, CountsEqualBlocks) {
    BlockTreeModel model;
    model.set_graph(loaded_chain(5));
    const QModelIndex layer = find(model, "layers.2");
    ASSERT_TRUE(layer.isValid());
    EXPECT_GE(layer.siblingAtColumn(BlockTreeModel::repeats).data(BlockTreeModel::sort_role).toInt(), 2);
}

TEST(BlockTreeModel, TellsRecomputationOnceThereIsASchedule) {
    const GraphPtr graph = loaded_chain(3);
    BlockTreeModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.set_graph(graph);
    const QModelIndex op = model.index_of(Selected::of(OpId(0)));
    EXPECT_EQ(op.data(BlockTreeModel::decision_role).toInt(), -1);

    Schedule schedule = keep_all_schedule(*graph);
    // The first op runs, its output is freed, and the op runs again.
    const TensorId made = graph->graph.ops[OpId(0)].outputs.front();
    schedule.steps.insert(schedule.steps.begin(), {Step::run(OpId(0)), Step::free(made)});
    model.set_schedule(prepare_schedule(graph, schedule));
    EXPECT_EQ(op.data(BlockTreeModel::decision_role).toInt(), static_cast<int>(Decision::recompute));
    EXPECT_EQ(op.siblingAtColumn(BlockTreeModel::extra).data(BlockTreeModel::sort_role).toLongLong(), 1000);

    model.set_schedule(prepare_schedule(loaded_chain(4), keep_all_schedule(*loaded_chain(4))));
    EXPECT_EQ(op.data(BlockTreeModel::decision_role).toInt(), -1)
        << "a schedule of another graph must not colour this one";
}

TEST(BlockTreeModel, AScheduleIsAnnouncedOnceHoweverManyBlocksThereAre) {
    const GraphPtr graph = loaded_chain(40);
    BlockTreeModel model;
    model.set_graph(graph);
    QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
    model.set_schedule(prepare_schedule(graph, keep_all_schedule(*graph)));
    EXPECT_EQ(changed.count(), 1);
}

TEST(BlockFilterModel, RowsSortedByRecomputationMoveWithTheSchedule) {
    const GraphPtr graph = loaded_chain(6);
    BlockTreeModel model;
    model.set_graph(graph);
    BlockFilterModel filter;
    filter.setSourceModel(&model);
    filter.sort(BlockTreeModel::extra, Qt::DescendingOrder);
    count_rows(filter);  // makes all rows, because sorting does not move rows that no view has asked for
    Schedule schedule = keep_all_schedule(*graph);
    const OpId again(7);
    schedule.steps.push_back(Step::run(again));
    model.set_schedule(prepare_schedule(graph, schedule));
    filter.columns_changed(BlockTreeModel::peak, BlockTreeModel::extra);
    QModelIndex at = filter.mapFromSource(model.index_of(Selected::of(again)));
    ASSERT_TRUE(at.isValid());
    for (; at.isValid(); at = at.parent()) EXPECT_EQ(at.row(), 0) << at.data().toString().toStdString();
}

TEST(BlockFilterModel, KeepsMatchesAndWhatLeadsToThem) {
    BlockTreeModel model;
    model.set_graph(loaded_chain(4));
    BlockFilterModel filter;
    filter.setSourceModel(&model);
    QAbstractItemModelTester tester(&filter, QAbstractItemModelTester::FailureReportingMode::Fatal);
    filter.set_search("threshold layers.2");
    const QModelIndex op = find(filter, "threshold_backward");
    ASSERT_TRUE(op.isValid());
    EXPECT_TRUE(op.parent().isValid());
    EXPECT_FALSE(find(filter, "convolution").isValid());
    filter.set_search("nothing is called this");
    EXPECT_EQ(filter.rowCount(), 0);
    filter.set_search("");
    EXPECT_EQ(count_rows(filter), count_rows(model));
}

TEST(BlockFilterModel, SortsByNumbersNotByTheirText) {
    BlockTreeModel model;
    model.set_graph(loaded_chain(12));
    BlockFilterModel filter;
    filter.setSourceModel(&model);
    filter.sort(BlockTreeModel::ops, Qt::DescendingOrder);
    std::vector<int> ops;
    for (int row = 0; row < filter.rowCount(); ++row) {
        ops.push_back(filter.index(row, BlockTreeModel::ops).data(BlockTreeModel::sort_role).toInt());
    }
    EXPECT_TRUE(std::is_sorted(ops.rbegin(), ops.rend()));
    filter.sort(-1);
    EXPECT_EQ(filter.index(0, 0).data(), model.index(0, 0).data()) << "execution order comes back";
}

}  // namespace
}  // namespace rematlas::explorer
