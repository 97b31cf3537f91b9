// Tests the window that follows the file of a training run.
#include <gtest/gtest.h>

#include <QImage>
#include <QScrollBar>
#include <QTest>
#include <QTreeView>

#include "app/explorer/followed/followed_window.h"
#include "app/explorer/window/screenshot.h"
#include "tests/app/explorer/table_column.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

class FollowedRuns : public Windows {
  protected:
    QString file() const { return folder.filePath("run.jsonl"); }
    void begin(int process = 1, const QByteArray& budget = "4194304") const {
        write(QIODevice::WriteOnly,
              R"({"format": "rematlas.steps", "version": 1, "model": "Net", "budget_bytes": )" + budget +
                  R"(, "process": )" + QByteArray::number(process) + "}\n");
    }
    void add_steps(int from, int count, const QByteArray& by = "plan") const {
        QByteArray lines;
        for (int i = from; i < from + count; ++i) {
            lines += R"({"step": )" + QByteArray::number(i) + R"(, "by": ")" + by +
                     R"(", "seconds": 0.25, "peak_bytes": )" + QByteArray::number((1 << 20) + i);
            lines += by == "plan" ? R"(, "planned_peak_bytes": 2097152, "overhead": 1.1})"
                                    "\n"
                                  : R"(, "why": "another shape"})"
                                    "\n";
        }
        write(QIODevice::Append, lines);
    }
    void write(QIODevice::OpenMode mode, const QByteArray& bytes) const {
        QFile to(file());
        ASSERT_TRUE(to.open(mode));
        ASSERT_EQ(to.write(bytes), bytes.size());
    }
    FollowedWindow* shown() {
        window->open({file()});
        auto* followed = window->findChild<FollowedWindow*>();
        EXPECT_TRUE(followed != nullptr);
        return followed;
    }
    static QString label(const FollowedWindow* followed, const char* name) {
        return followed->findChild<QLabel*>(name)->text();
    }
};

TEST_F(FollowedRuns, grow_with_their_file) {
    begin();
    FollowedWindow* followed = shown();
    EXPECT_EQ(label(followed, "followed_headline"), "Net: 0 steps, a budget of 4.00 MiB");
    EXPECT_EQ(followed->steps().rowCount(), 0);
    add_steps(0, 3);
    ASSERT_TRUE(eventually([&] { return followed->steps().rowCount() == 3; }));
    EXPECT_EQ(followed->view().to(), 3);
    EXPECT_TRUE(label(followed, "followed_last").contains("(a plan): a peak of 1.00 MiB in 250 ms"));
    EXPECT_TRUE(label(followed, "followed_last").contains("foretold 2.00 MiB"));
    EXPECT_TRUE(label(followed, "followed_last").contains("No step was above the budget"));
    add_steps(3, 2, "original");
    ASSERT_TRUE(eventually([&] { return followed->steps().rowCount() == 5; }));
    EXPECT_EQ(cell_of(followed->steps(), 4, "Why").data().toString(), "another shape");
    EXPECT_TRUE(label(followed, "followed_reasons").contains("another shape (steps: 2)"));
}

TEST_F(FollowedRuns, are_as_readable_while_a_line_is_being_written) {
    begin();
    FollowedRun run(file());
    run.start();
    write(QIODevice::Append, R"({"step": 0, "by": "plan", "sec)");
    run.look();
    EXPECT_TRUE(run.run().steps.empty());
    write(QIODevice::Append, "onds\": 1, \"peak_bytes\": 5}\n");
    run.look();
    EXPECT_EQ(run.run().steps.size(), 1u);
}

TEST_F(FollowedRuns, begin_anew_with_another_training_run_even_one_of_more_steps) {
    begin(1);
    add_steps(0, 2, "original");
    FollowedWindow* followed = shown();
    ASSERT_EQ(followed->steps().rowCount(), 2);
    begin(2);
    add_steps(0, 40);
    ASSERT_TRUE(eventually([&] { return followed->steps().rowCount() == 40; }));
    EXPECT_EQ(followed->view().to(), 40);
    EXPECT_TRUE(followed->findChild<QLabel*>("followed_reasons")->isHidden());
}

TEST_F(FollowedRuns, keep_the_part_that_is_looked_at_and_follow_the_end) {
    begin();
    add_steps(0, 100);
    FollowedWindow* followed = shown();
    FollowedView& view = followed->view();
    QTest::keyClick(&view, Qt::Key_Plus);
    const double from = view.from(), to = view.to();
    ASSERT_LT(to, 100);
    add_steps(100, 50);
    ASSERT_TRUE(eventually([&] { return followed->steps().rowCount() == 150; }));
    EXPECT_DOUBLE_EQ(view.from(), from);
    EXPECT_DOUBLE_EQ(view.to(), to);
    // A view that shows the last step must also show the steps that are added later.
    view.set_cursor(149);
    for (int i = 0; i < 40; ++i) QTest::keyClick(&view, Qt::Key_Minus);
    QTest::keyClick(&view, Qt::Key_Home);
    add_steps(150, 50);
    ASSERT_TRUE(eventually([&] { return followed->steps().rowCount() == 200; }));
    EXPECT_EQ(view.from(), 0);
    EXPECT_EQ(view.to(), 200);
}

TEST_F(FollowedRuns, have_a_cursor_that_clicks_keys_and_rows_put) {
    begin();
    add_steps(0, 10);
    FollowedWindow* followed = shown();
    FollowedView& view = followed->view();
    const Rect plot = view.plot();
    const QPoint place(static_cast<int>(plot.x + plot.width * 0.35),
                       static_cast<int>(plot.y + plot.height / 2));
    QTest::mouseClick(&view, Qt::LeftButton, {}, place);
    ASSERT_EQ(view.cursor(), 3u);
    auto* table = followed->findChild<QTreeView*>("followed_steps");
    EXPECT_EQ(table->currentIndex().data().toString(), "3");
    QTest::keyClick(&view, Qt::Key_Right);
    EXPECT_EQ(view.cursor(), 4u);
    EXPECT_EQ(table->currentIndex().data().toString(), "4");
    table->setCurrentIndex(table->model()->index(7, 0));
    EXPECT_EQ(view.cursor(), 7u);
    for (int i = 0; i < 9; ++i) QTest::keyClick(&view, Qt::Key_Right);
    EXPECT_EQ(view.cursor(), 9u) << "the last step";
}

TEST_F(FollowedRuns, say_what_cannot_be_read) {
    begin();
    add_steps(0, 2);
    FollowedWindow* followed = shown();
    write(QIODevice::Append, "{\"step\": 7}\n");
    ASSERT_TRUE(eventually([&] { return !followed->findChild<QLabel*>("followed_failure")->isHidden(); }));
    EXPECT_TRUE(label(followed, "followed_failure").contains("line 4"));
    EXPECT_EQ(followed->steps().rowCount(), 2) << "what was read stays";
    add_steps(3, 1);
    ASSERT_TRUE(eventually([&] { return followed->steps().rowCount() == 3; })) << "and it goes on";
    EXPECT_EQ(label(followed, "followed_headline"), "Net: 3 steps, a budget of 4.00 MiB");
    EXPECT_EQ(cell_of(followed->steps(), 2, "Step").data().toString(), "3");
    write(QIODevice::Append, "{\"step\": 4, \"by");
    const QByteArray before = "{\"format\": \"rematlas.steps\", \"version\": 1, \"model\": \"Second\"}\n";
    write(QIODevice::Append, before);
    add_steps(0, 1);
    ASSERT_TRUE(eventually([&] { return followed->steps().rowCount() == 1; })) << "another run began";
    EXPECT_EQ(label(followed, "followed_headline"), "Second: 1 step");
    EXPECT_EQ(followed->view().to(), 1);
    write(QIODevice::WriteOnly, "");
    ASSERT_TRUE(eventually([&] { return followed->steps().rowCount() == 0; })) << "the file is empty";
    EXPECT_TRUE(followed->findChild<QLabel*>("followed_failure")->isHidden());
    begin();
    add_steps(0, 5);
    ASSERT_TRUE(eventually([&] { return followed->steps().rowCount() == 5; }));
    followed->close();
    write(QIODevice::WriteOnly, R"({"format": "rematlas.steps", "version": 9})"
                                "\n");
    window->open({file()});
    EXPECT_TRUE(eventually([&] { return window->last_error().contains("version"); }));
    EXPECT_TRUE(eventually([&] { return window->findChild<FollowedWindow*>() == nullptr; }));
}

TEST_F(FollowedRuns, wait_for_their_first_line) {
    write(QIODevice::WriteOnly, "");
    FollowedWindow* followed = shown();
    EXPECT_EQ(label(followed, "followed_last"), "No step is over yet.");
    begin();
    add_steps(0, 2);
    ASSERT_TRUE(eventually([&] { return followed->steps().rowCount() == 2; }));
}

TEST_F(FollowedRuns, that_cannot_be_read_are_not_among_the_recent_files) {
    write(QIODevice::WriteOnly, R"({"format": "rematlas.steps", "version": 9})"
                                "\n");
    window->open({file()});
    EXPECT_TRUE(window->last_error().contains("version"));
    EXPECT_FALSE(settings->value("recent").toStringList().contains(file()));
}

TEST_F(FollowedRuns, show_names_from_their_file_as_they_are) {
    write(QIODevice::WriteOnly, R"({"format": "rematlas.steps", "version": 1, "model": "Net <b>x</b>"})"
                                "\n");
    FollowedWindow* followed = shown();
    EXPECT_EQ(followed->findChild<QLabel*>("followed_headline")->textFormat(), Qt::PlainText);
}

TEST_F(FollowedRuns, are_what_a_screenshot_of_a_run_shows) {
    begin();
    add_steps(0, 10);
    const QString picture = folder.filePath("window.png");
    ASSERT_EQ(take_screenshot({.files = {file()}, .picture = picture, .dock = {}, .size = "900x600"}), 0);
    EXPECT_EQ(QImage(picture).size(), QSize(900, 600));
}

}  // namespace
}  // namespace rematlas::explorer
