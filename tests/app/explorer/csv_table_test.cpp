#include "app/explorer/models/csv_table.h"

#include <gtest/gtest.h>

#include <QStandardItemModel>

#include "app/explorer/models/alive_model.h"
#include "app/explorer/models/block_tree_model.h"
#include "app/explorer/models/plan_list.h"
#include "app/explorer/models/steps_table.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

QStringList lines_of(const std::string& csv) {
    return QString::fromStdString(csv).split("\r\n", Qt::SkipEmptyParts);
}

TEST(CsvTable, QuotesWhatWouldBreakALine) {
    QStandardItemModel model(1, 3);
    model.setHorizontalHeaderLabels({"a", "b, c", "d"});
    model.setItem(0, 0, new QStandardItem("plain"));
    model.setItem(0, 1, new QStandardItem("say \"no\", twice"));
    model.setItem(0, 2, new QStandardItem("two\nlines"));
    EXPECT_EQ(csv_table(model), "a,\"b, c\",d\r\nplain,\"say \"\"no\"\", twice\",\"two\nlines\"\r\n");
}

TEST(CsvTable, OfPlansHoldsExactNumbersWithTheirUnits) {
    const GraphPtr graph = loaded_chain(4);
    Schedule schedule = keep_all_schedule(*graph);
    schedule.overhead = 1.0625;
    schedule.budget = schedule.peak + Bytes(1);
    PlanList plans;
    plans.add(schedule, PlanRow::Origin::solved);
    const QStringList lines = lines_of(csv_table(plans));
    ASSERT_EQ(lines.size(), 2);
    EXPECT_TRUE(lines[0].contains("Peak (bytes),Time (ratio),At best (ratio),Budget (bytes)"))
        << lines[0].toStdString();
    EXPECT_TRUE(lines[1].contains(QStringLiteral(",%1,1.0625,").arg(schedule.peak.value)))
        << lines[1].toStdString();
    EXPECT_TRUE(lines[1].contains(QString::number(schedule.peak.value + 1)));
    EXPECT_TRUE(lines[1].startsWith("not starred,A,")) << "what is painted is said in words";
}

TEST(CsvTable, OfBlocksHoldsEveryLevel) {
    BlockTreeModel blocks;
    const GraphPtr graph = loaded_chain(3);
    blocks.set_graph(graph);
    const QStringList lines = lines_of(csv_table(blocks));
    EXPECT_EQ(lines.size(), 1 + static_cast<int>(graph->facts.size() + graph->graph.ops.size()));
    EXPECT_TRUE(lines[0].startsWith("Level,Block,")) << lines[0].toStdString();
    EXPECT_TRUE(lines[1].startsWith("0,forward,"));
    EXPECT_TRUE(lines[2].startsWith("1,"));
}

TEST(CsvTable, OfWhatIsInMemoryAddsUpToThePeak) {
    const GraphPtr graph = loaded_chain(5);
    const SchedulePtr schedule = prepare_schedule(graph, keep_all_schedule(*graph));
    AliveModel alive;
    alive.set_schedule(schedule);
    qint64 sum = 0;
    const QStringList lines = lines_of(csv_table(alive));
    ASSERT_TRUE(lines[0].startsWith("Tensor,Bytes (bytes),")) << lines[0].toStdString();
    for (int i = 1; i < lines.size(); ++i) sum += lines[i].section(',', 1, 1).toLongLong();
    EXPECT_EQ(sum, schedule->report.peak.value);
}

TEST(CsvTable, OfTheStepsHoldsTheMemoryOfEach) {
    const GraphPtr graph = loaded_chain(3);
    const SchedulePtr schedule = prepare_schedule(graph, keep_all_schedule(*graph));
    StepsTable steps;
    steps.set_schedule(schedule);
    const QStringList lines = lines_of(csv_table(steps));
    ASSERT_EQ(lines.size(), 1 + static_cast<int>(schedule->schedule.steps.size()));
    EXPECT_TRUE(lines[0].endsWith("Start (ns),Time (ns),Held during (bytes),Held after (bytes)"));
    qint64 peak = 0;
    for (int i = 1; i < lines.size(); ++i) peak = std::max(peak, lines[i].section(',', -2, -2).toLongLong());
    EXPECT_EQ(peak, schedule->report.peak.value);
}

}  // namespace
}  // namespace rematlas::explorer
