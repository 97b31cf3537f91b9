// Tests the window that shows memory as torch measured it: the table of the memory that is alive at the
// cursor, the plan drawn over the measurement, and files that cannot be read.
#include <gtest/gtest.h>

#include <QImage>
#include <QMouseEvent>
#include <QTabWidget>
#include <QTest>
#include <QTreeView>

#include "app/explorer/measured/measured_window.h"
#include "app/explorer/window/screenshot.h"
#include "core/base/files.h"
#include "core/schedule/schedule_file.h"
#include "tests/app/explorer/table_column.h"
#include "tests/app/explorer/window_fixture.h"
#include "tests/core/support/pickle_writer.h"
#include "tests/core/support/random_snapshot.h"

namespace rematlas::explorer {
namespace {

class MeasuredWindows : public Windows {
  protected:
    QString write_snapshot(const QString& name) {
        const QString file = folder.filePath(name);
        EXPECT_TRUE(write_file(file.toStdString(), pickled(random_snapshot(1).snapshot)));
        return file;
    }
    MeasuredWindow* shown(const QString& file) {
        window->open({file});
        auto* measured = window->findChild<MeasuredWindow*>();
        EXPECT_TRUE(measured != nullptr);
        EXPECT_TRUE(eventually([&] { return !measured->reading() && measured->blocks().rowCount() > 0; }));
        return measured;
    }
};

TEST_F(MeasuredWindows, show_what_is_alive_at_the_peak_of_the_fullest_device) {
    const MeasuredWindow* measured = shown(write_snapshot("s.pickle"));
    const RandomSnapshot truth = random_snapshot(1);
    std::int64_t highest = 0;
    for (const DeviceTruth& device : truth.devices)
        highest = std::max(highest, *std::max_element(device.allocated.begin(), device.allocated.end()));
    EXPECT_EQ(measured->blocks().total().value, highest);
    EXPECT_TRUE(measured->windowTitle().startsWith("s.pickle"));
    EXPECT_TRUE(measured->findChild<QLabel*>("measured_headline")->text().contains("allocated at the peak"));
    EXPECT_TRUE(measured->findChild<QLabel*>("measured_unknown")->text().contains("The trace begins with"));
    EXPECT_TRUE(eventually([&] { return settings->value("recent").toStringList().size() == 1; }));
    const QModelIndex first = cell_of(measured->blocks(), 0, "Allocated by");
    EXPECT_TRUE(first.data(Qt::ToolTipRole).toString().contains("\n")) << "the whole stack";
}

TEST_F(MeasuredWindows, follow_the_cursor_that_a_click_puts_somewhere) {
    MeasuredWindow* measured = shown(write_snapshot("s.pickle"));
    MeasuredView& view = measured->view();
    const TraceMoment before = view.cursor();
    const Rect plot = view.plot();
    const QPoint place(static_cast<int>(plot.x + 3), static_cast<int>(plot.y + plot.height / 2));
    QTest::mouseClick(&view, Qt::LeftButton, {}, place);
    EXPECT_NE(view.cursor(), before);
    EXPECT_LT(view.cursor(), 5u);
    QTest::keyClick(&view, Qt::Key_Right);
    const TraceMoment there = view.cursor();
    QTest::keyClick(&view, Qt::Key_Left);
    EXPECT_EQ(view.cursor() + 1, there);
    const double whole = view.to() - view.from();
    QTest::keyClick(&view, Qt::Key_Plus);
    EXPECT_LT(view.to() - view.from(), whole);
    QTest::keyClick(&view, Qt::Key_Home);
    EXPECT_EQ(view.to() - view.from(), whole);
}

TEST_F(MeasuredWindows, lay_the_plan_of_the_main_window_over_it) {
    const QString graph = write_chain(folder, 5);
    const QString schedule = folder.filePath("s.schedule.json");
    ASSERT_TRUE(write_schedule(keep_all_schedule(**load_graph(graph.toStdString())), schedule.toStdString()));
    MeasuredWindow* measured = shown(write_snapshot("s.pickle"));
    EXPECT_FALSE(measured->view().has_plan());
    EXPECT_FALSE(measured->findChild<QTabWidget*>()->isTabVisible(2));
    window->session().open({schedule});
    ASSERT_TRUE(eventually([&] { return measured->view().has_plan(); }));
    EXPECT_GT(measured->differences().rowCount(), 0);
    EXPECT_TRUE(measured->findChild<QTabWidget*>()->isTabVisible(2));
    EXPECT_TRUE(measured->findChild<QLabel*>("measured_compared")->text().contains("foretells"));
    window->session().close();
    EXPECT_FALSE(measured->view().has_plan());
}

TEST_F(MeasuredWindows, are_what_a_screenshot_of_a_snapshot_shows) {
    const QString picture = folder.filePath("window.png");
    ASSERT_EQ(take_screenshot(
                  {.files = {write_snapshot("s.pickle")}, .picture = picture, .dock = {}, .size = "900x600"}),
              0);
    EXPECT_EQ(QImage(picture).size(), QSize(900, 600));
}

TEST_F(MeasuredWindows, say_in_the_main_window_what_cannot_be_read) {
    const QString file = folder.filePath("broken.pickle");
    ASSERT_TRUE(write_file(file.toStdString(), std::string("\x80\x04}\x8c\x08segments\x93.", 15)));
    window->open({file});
    ASSERT_TRUE(eventually([&] { return !window->last_error().isEmpty(); }));
    EXPECT_TRUE(window->last_error().contains("STACK_GLOBAL")) << window->last_error().toStdString();
    EXPECT_TRUE(eventually([&] { return window->findChild<MeasuredWindow*>() == nullptr; }));
    EXPECT_TRUE(settings->value("recent").toStringList().isEmpty());
}

TEST_F(MeasuredWindows, are_asked_of_pickles_of_something_else) {
    const QString file = folder.filePath("dict.pickle");
    ASSERT_TRUE(write_file(file.toStdString(), std::string("\x80\x04}\x8c\x01x\x4b\x01s.", 10)));
    window->open({file});
    ASSERT_TRUE(eventually([&] { return !window->last_error().isEmpty(); }));
    EXPECT_TRUE(window->last_error().contains("holds no memory snapshot"))
        << window->last_error().toStdString();
}

}  // namespace
}  // namespace rematlas::explorer
