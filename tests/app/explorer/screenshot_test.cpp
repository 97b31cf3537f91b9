#include "app/explorer/window/screenshot.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QImage>
#include <QProcess>
#include <QTemporaryDir>
#include <set>

#include "app/explorer/loaded/loaded_schedule.h"
#include "core/schedule/schedule_file.h"
#include "tests/app/explorer/training_chain.h"
#include "viz/layout/layout_worker.h"

namespace rematlas::explorer {
namespace {

/// Returns the number of different colours in the picture. A picture with something drawn on it has many.
std::size_t colors(const QImage& image) {
    std::set<QRgb> seen;
    for (int y = 0; y < image.height(); y += 2) {
        for (int x = 0; x < image.width(); x += 2) seen.insert(image.pixel(x, y));
    }
    return seen.size();
}

struct Ended {
    int status = -1;
    QString errors;
};

Ended run_explorer(const QStringList& arguments) {
    QProcess process;
    process.start(REMATLAS_EXPLORER, arguments);
    if (!process.waitForFinished(60000)) return {};
    return {process.exitCode(), QString::fromUtf8(process.readAllStandardError())};
}

TEST(Screenshot, ShowsTheWindowWithAGraphAndASchedule) {
    if (find_layout_worker().empty()) GTEST_SKIP() << "no layout worker in this build";
    QTemporaryDir folder;
    const QString graph = write_chain(folder, 5);
    const QString schedule = folder.filePath("s.schedule.json");
    ASSERT_TRUE(write_schedule(keep_all_schedule(**load_graph(graph.toStdString())), schedule.toStdString()));
    const QString picture = folder.filePath("window.png");
    ASSERT_EQ(take_screenshot({.files = {schedule}, .picture = picture, .dock = {}, .size = {}}), 0);
    const QImage image(picture);
    EXPECT_EQ(image.size(), QSize(1600, 1000));
    EXPECT_GT(colors(image), 100u);
}

TEST(Screenshot, ShowsOneDockAlone) {
    if (find_layout_worker().empty()) GTEST_SKIP() << "no layout worker in this build";
    QTemporaryDir folder;
    const QString picture = folder.filePath("dock.png");
    ASSERT_EQ(
        take_screenshot(
            {.files = {write_chain(folder, 5)}, .picture = picture, .dock = "blocks", .size = "1200x800"}),
        0);
    const QImage image(picture);
    EXPECT_LT(image.width(), 800);
    EXPECT_GT(colors(image), 20u);
}

TEST(Screenshot, WorksFromTheCommandLineWithNothingLoaded) {
    QTemporaryDir folder;
    const QString picture = folder.filePath("welcome.png");
    const Ended ended = run_explorer({"--screenshot", picture});
    EXPECT_EQ(ended.status, 0) << ended.errors.toStdString();
    EXPECT_GT(colors(QImage(picture)), 20u);
}

TEST(Screenshot, UsageAndInputErrorsEndWithStatusTwoAndALine) {
    QTemporaryDir folder;
    const QString picture = folder.filePath("none.png");
    const Ended absent = run_explorer({folder.filePath("absent.graph.json"), "--screenshot", picture});
    EXPECT_EQ(absent.status, 2);
    EXPECT_TRUE(absent.errors.contains("absent.graph.json")) << absent.errors.toStdString();
    const Ended dock = run_explorer({"--screenshot", picture, "--dock", "kitchen"});
    EXPECT_EQ(dock.status, 2);
    EXPECT_TRUE(dock.errors.contains("kitchen"));
    EXPECT_EQ(run_explorer({"--dock", "blocks"}).status, 2);
    EXPECT_EQ(run_explorer({"--screenshot", folder.filePath("no/such/folder.png")}).status, 2);
    EXPECT_FALSE(QFile::exists(picture));
}

TEST(Screenshot, AGraphLargerThanTheMemoryEndsWithALine) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer takes more address space than the limit";
#endif
    QTemporaryDir folder;
    const QString graph = folder.filePath("large.graph.json");
    QFile file(graph);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    ASSERT_TRUE(file.resize(qint64{3} << 30));  // the file is sparse: it takes no space on the disk
    QProcess process;
    process.start("sh", {"-c", "ulimit -v 2000000; exec \"$0\" \"$1\" --screenshot \"$2\"", REMATLAS_EXPLORER,
                         graph, folder.filePath("none.png")});
    ASSERT_TRUE(process.waitForFinished(60000));
    EXPECT_EQ(process.exitStatus(), QProcess::NormalExit);
    EXPECT_EQ(process.exitCode(), 2);
    const QString line = QString::fromUtf8(process.readAllStandardError());
    EXPECT_TRUE(line.contains("out of memory")) << line.toStdString();
}

}  // namespace
}  // namespace rematlas::explorer
