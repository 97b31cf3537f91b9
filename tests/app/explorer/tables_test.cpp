#include <gtest/gtest.h>

#include <set>

#include "app/explorer/models/items_table.h"
#include "app/explorer/models/steps_table.h"
#include "app/explorer/models/sweep_table.h"
#include "app/explorer/words/wording.h"
#include "tests/app/explorer/table_column.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

QVariant value(const FiguresTable& table, int row, const QString& column) {
    return cell_of(table, row, column).data(FiguresTable::value_role);
}
QString shown(const FiguresTable& table, int row, const QString& column) {
    return cell_of(table, row, column).data().toString();
}

/// Returns a schedule that runs the first op twice and every other op once.
SchedulePtr with_a_rerun(const GraphPtr& graph) {
    Schedule schedule = keep_all_schedule(*graph);
    const TensorId made = graph->graph.ops[OpId(0)].outputs.front();
    schedule.steps.insert(schedule.steps.begin(), {Step::run(OpId(0)), Step::free(made)});
    return prepare_schedule(graph, schedule);
}

TEST(StepsTable, HasARowAStepWithWhatTheSimulatorSays) {
    const SchedulePtr schedule = with_a_rerun(loaded_chain(4));
    StepsTable table;
    table.set_schedule(schedule);
    ASSERT_EQ(table.rowCount(), static_cast<int>(schedule->schedule.steps.size()));
    qint64 highest = 0;
    for (int row = 0; row < table.rowCount(); ++row)
        highest = std::max(highest, value(table, row, "Held during").toLongLong());
    EXPECT_EQ(highest, schedule->simulation.peak.value);
    EXPECT_EQ(shown(table, 0, "What"), "run");
    EXPECT_EQ(shown(table, 1, "What"), "free");
    EXPECT_EQ(shown(table, 2, "What"), "run again");
    EXPECT_EQ(shown(table, 2, "Name"), numbered_op(*schedule->graph, OpId(0)));
    EXPECT_EQ(table.selected_at(1), Selected::of(OpId(0))) << "the op that made what is freed";
    EXPECT_EQ(table.row_of(Selected::of(OpId(0))), 0);
    table.set_schedule(nullptr);
    EXPECT_EQ(table.rowCount(), 0);
}

TEST(SweepTable, HasARowAPointAlsoWhereNothingFits) {
    const Bound bound{1.1, 0.02, ScheduleClass::any_order};
    const Sweep sweep{"graph",
                      "",
                      {{"atlas",
                        {{Bytes(1 << 20), "infeasible", Bytes(0), 0, {}, {}},
                         {Bytes(2 << 20), "feasible", Bytes(3 << 19), 1.25, bound, {}}}},
                       {"dtr", {{Bytes(2 << 20), "optimal", Bytes(1 << 20), 1.5, {}, {}}}}}};
    SweepTable table;
    table.set_sweep(sweep);
    ASSERT_EQ(table.rowCount(), 3);
    EXPECT_EQ(shown(table, 0, "Result"), "nothing fits");
    EXPECT_FALSE(value(table, 0, "Peak").isValid());
    EXPECT_EQ(value(table, 1, "Peak").toLongLong(), 3 << 19);
    EXPECT_EQ(value(table, 1, "At best").toDouble(), 1.1);
    EXPECT_EQ(shown(table, 1, "Added time"), "+25.00 %");
    EXPECT_EQ(table.curve_at(2), 1);
    EXPECT_EQ(table.point_at(2), 0);
}

TEST(ItemsTable, AddsUpToTheGraphAndNamesItsDecisions) {
    LadderController ladder;
    ladder.set_layout_function([](const LayoutRequest& request, std::stop_token) -> Result<Layout> {
        Layout layout;
        layout.items.resize(request.items.size());
        layout.clusters.resize(request.clusters.size());
        layout.edges.resize(request.edges.size());
        return layout;
    });
    const SchedulePtr schedule = with_a_rerun(loaded_chain(4));
    ladder.set_graph(schedule->graph);
    ASSERT_TRUE(eventually([&] { return ladder.ladder() != nullptr; }));
    ItemsTable table;
    table.set_ladder(ladder.ladder());
    EXPECT_TRUE(shown(table, 0, "Decision").isEmpty()) << "there is no schedule yet";
    ladder.set_schedule(schedule);
    table.set_ladder(ladder.ladder());
    qint64 ops = 0, made = 0, again = 0;
    for (int row = 0; row < table.rowCount(); ++row) {
        ops += value(table, row, "Ops").toLongLong();
        made += value(table, row, "Made").toLongLong();
        again += value(table, row, "Recomputed").toLongLong();
        EXPECT_FALSE(shown(table, row, "Decision").isEmpty());
    }
    const Graph& graph = schedule->graph->graph;
    Bytes all;
    for (const OpId op : graph.ops.ids()) all += bytes_made(graph, op);
    EXPECT_EQ(ops, static_cast<qint64>(graph.ops.size()));
    EXPECT_EQ(made, all.value);
    EXPECT_EQ(again, bytes_made(graph, OpId(0)).value);
    const int row = table.row_of(Selected::of(OpId(2)));
    ASSERT_GE(row, 0);
    EXPECT_FALSE(table.selected_at(row).empty());
}

TEST(FiguresTable, IsTextForASpreadsheetAsShownOrExact) {
    StepsTable table;
    table.set_schedule(with_a_rerun(loaded_chain(2)));
    const QStringList shown_lines = as_text(table, {0, 2}).split('\n', Qt::SkipEmptyParts);
    ASSERT_EQ(shown_lines.size(), 3);
    EXPECT_EQ(shown_lines[0].split('\t').size(), 10);
    EXPECT_EQ(shown_lines[2].split('\t')[column_of(table, "What")], "run again");
    const QString exact =
        as_text(table, {0}, true).split('\n')[1].split('\t')[column_of(table, "Held during")];
    EXPECT_EQ(exact.toLongLong(), table.schedule()->simulation.steps[0].during.value);
}

TEST(FiguresTable, EveryColumnSaysWhatItIs) {
    StepsTable steps;
    SweepTable sweep;
    ItemsTable items;
    const std::pair<const FiguresTable*, int> tables[] = {{&steps, 10}, {&sweep, 6}, {&items, 10}};
    for (const auto& [table, columns] : tables) {
        ASSERT_EQ(table->columnCount(), columns);
        std::set<QString> titles;
        for (int column = 0; column < columns; ++column) {
            titles.insert(table->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
            EXPECT_FALSE(table->headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
        }
        EXPECT_EQ(static_cast<int>(titles.size()), columns);
    }
}

}  // namespace
}  // namespace rematlas::explorer
