#include "app/explorer/files/open_file.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QTemporaryDir>

#include "core/schedule/schedule_file.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

std::string write(const QTemporaryDir& folder, const QString& name, const QByteArray& content) {
    QFile file(folder.filePath(name));
    if (!file.open(QIODevice::WriteOnly)) return {};
    file.write(content);
    return file.fileName().toStdString();
}

TEST(OpenFile, ReadsAGraphWithItsBlocks) {
    QTemporaryDir folder;
    const Result<Opened> opened = open_file(write_chain(folder, 4).toStdString(), nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->graph->graph.ops.size(), 17u);
    EXPECT_GT(opened->graph->graph.blocks.size(), 0u);
    EXPECT_GT(opened->graph->full_peak, opened->graph->least.bytes);
}

TEST(OpenFile, FindsTheGraphOfAScheduleByDigest) {
    QTemporaryDir folder;
    write_chain(folder, 3, "another");
    const std::string path = write_chain(folder, 4, "the_one").toStdString();
    const Result<GraphPtr> graph = load_graph(path);
    ASSERT_TRUE(graph);
    const std::string schedule = folder.filePath("s.schedule.json").toStdString();
    ASSERT_TRUE(write_schedule(keep_all_schedule(**graph), schedule));
    const Result<Opened> opened = open_file(schedule, nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->graph->path.filename(), "the_one.graph.json");
    ASSERT_TRUE(opened->schedule);
    EXPECT_TRUE(opened->schedule->ok());
}

TEST(OpenFile, PrefersTheGraphThatIsOpenAlready) {
    QTemporaryDir folder;
    const GraphPtr current = loaded_chain(4);
    const std::string schedule = folder.filePath("s.schedule.json").toStdString();
    ASSERT_TRUE(write_schedule(keep_all_schedule(*current), schedule));
    const Result<Opened> opened = open_file(schedule, current);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->graph, current);
}

TEST(OpenFile, RefusesAScheduleWithoutItsGraph) {
    QTemporaryDir folder;
    write_chain(folder, 3);
    const std::string schedule = folder.filePath("s.schedule.json").toStdString();
    ASSERT_TRUE(write_schedule(keep_all_schedule(*loaded_chain(4)), schedule));
    const Result<Opened> opened = open_file(schedule, nullptr);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("s.schedule.json"), std::string::npos);
}

TEST(OpenFile, RefusesBrokenFilesWithOneLineThatNamesThem) {
    QTemporaryDir folder;
    const QByteArray contents[] = {"",
                                   "{",
                                   "[]",
                                   "{\"format\": \"rematlas.graph\"}",
                                   QByteArray(1000, '\0'),
                                   "{\"format\":\"rematlas.graph\",\"version\":1,\"name\":\"x\",\"tensors\":["
                                   "],\"ops\":[{}],\"results\":[]}"};
    for (const char* ending : {"graph.json", "schedule.json", "sweep.json", "plan"}) {
        for (const QByteArray& content : contents) {
            const std::string path = write(folder, QString("broken.") + ending, content);
            const Result<Opened> opened = open_file(path, nullptr);
            ASSERT_FALSE(opened) << path << ": " << content.toStdString();
            EXPECT_NE(opened.error().message.find("broken."), std::string::npos) << opened.error().message;
            EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
        }
    }
    EXPECT_FALSE(open_file(folder.filePath("absent.graph.json").toStdString(), nullptr));
    EXPECT_FALSE(open_file(folder.filePath("notes.txt").toStdString(), nullptr));
}

}  // namespace
}  // namespace rematlas::explorer
