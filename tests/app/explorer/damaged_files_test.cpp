// Opens damaged files in the window: cut files, empty files, and files of another kind than their names say.
// Each must give one line of error, and the files that were open must stay open.
#include <QFile>

#include "core/base/files.h"
#include "core/schedule/schedule_file.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

struct Damage {
    const char* name;
    std::string content;
};

class DamagedFiles : public Windows {
  protected:
    void SetUp() override {
        Windows::SetUp();
        open(write_chain(folder, 4, "good"));
        window->session().budget.set_text("80%");
        child<QComboBox>("solver")->setCurrentText("chen-greedy");
        window->solve_panel().solve();
        ASSERT_TRUE(eventually([&] { return idle() && window->session().plans.rowCount() == 2; }));
    }
    std::string cut(const std::string& text) const { return text.substr(0, text.size() / 2); }
};

TEST_F(DamagedFiles, AreToldInOneLineAndLeaveWhatIsOpen) {
    const GraphPtr graph = window->session().graph();
    const SchedulePtr shown = window->session().schedule();
    const std::string schedule = schedule_text(shown->schedule);
    const Sweep sweep{graph->graph.name, graph->graph.sha256, {}};
    const Damage damages[] = {{"cut.graph.json", cut(graph->text)},
                              {"empty.graph.json", ""},
                              {"cut.schedule.json", cut(schedule)},
                              {"cut.sweep.json", cut(sweep_text(sweep))},
                              {"list.sweep.json", "[1, 2]"},
                              {"noise.plan", std::string("\0\1\2\3\xff\xfe", 6)},
                              {"empty.plan", ""},
                              {"table.csv", "Step,Bytes\n1,2\n"},
                              {"notes.txt", "hello"},
                              {"other.json", "{\"format\": \"something else\"}"}};
    for (const Damage& damage : damages) {
        const QString path = folder.filePath(damage.name);
        ASSERT_TRUE(write_file(path.toStdString(), damage.content));
        open(path);
        const QString said = window->last_error();
        EXPECT_TRUE(said.contains(damage.name)) << damage.name << ": " << said.toStdString();
        EXPECT_FALSE(said.contains('\n')) << said.toStdString();
        EXPECT_EQ(window->session().graph(), graph) << damage.name;
        EXPECT_EQ(window->session().schedule(), shown) << damage.name;
        EXPECT_EQ(window->session().plans.rowCount(), 2) << damage.name;
    }
}

TEST_F(DamagedFiles, TellOfAnEmptyFileAndOfOneThatEndsEarly) {
    const std::string whole = window->session().graph()->text;
    const std::pair<std::string, const char*> files[] = {{"", "it is empty"}, {cut(whole), "it ends early"}};
    for (const auto& [content, told] : files) {
        const QString path = folder.filePath("half.graph.json");
        ASSERT_TRUE(write_file(path.toStdString(), content));
        open(path);
        EXPECT_TRUE(window->last_error().contains(told)) << window->last_error().toStdString();
        EXPECT_TRUE(window->last_error().contains("capture it again"));
    }
}

TEST_F(DamagedFiles, OfAGraphThatIsReplacedAreToldAndGetNoPlansOfTheOneBefore) {
    Session& session = window->session();
    session.journal.flush();
    const QString path = folder.filePath("good.graph.json"), aside = folder.filePath("aside");
    const std::string kept = *read_file(journal_path(session.graph()->path));
    ASSERT_TRUE(QFile::rename(path, aside));
    ASSERT_TRUE(eventually([&] { return window->last_error().contains("good.graph.json is gone"); }));
    ASSERT_TRUE(QFile::copy(write_chain(folder, 3, "other"), path));
    ASSERT_TRUE(eventually([&] { return window->last_error().contains("is another file now"); }));
    session.budget.set_text("90%");
    window->solve_panel().solve();
    ASSERT_TRUE(eventually([&] { return idle() && session.plans.rowCount() == 3; }));
    session.journal.flush();
    EXPECT_EQ(*read_file(journal_path(session.graph()->path)), kept);
    ASSERT_TRUE(QFile::remove(path));
    ASSERT_TRUE(QFile::rename(aside, path));
    ASSERT_TRUE(eventually([&] { return session.watch.state() == GraphWatch::State::same; }));
    session.journal.flush();
    EXPECT_EQ(read_journal(journal_path(session.graph()->path), session.graph()->graph.sha256).plans.size(),
              2u)
        << "the plan that came meanwhile is kept as well";
    ASSERT_TRUE(
        write_file(path.toStdString(), *read_file(folder.filePath("other.graph.json").toStdString())));
    ASSERT_TRUE(eventually([&] { return session.watch.state() == GraphWatch::State::replaced; }));
    child<QPushButton>("message_remedy")->click();
    ASSERT_TRUE(eventually([&] { return idle() && session.plans.rowCount() == 1; }));
    EXPECT_FALSE(child<QWidget>("message_bar")->isVisible());
}

TEST_F(DamagedFiles, OfAGraphWhoseKeptPlansAreDamagedAllThatIsWholeIsThere) {
    window->session().journal.flush();
    const std::filesystem::path kept = journal_path(window->session().graph()->path);
    const std::string before = *read_file(kept);
    ASSERT_TRUE(write_file(kept, before + "{\"kind\": \"plan\", \"na"));
    window.reset();
    make_window();
    open(folder.filePath("good.graph.json"));
    EXPECT_EQ(window->session().plans.rowCount(), 2);
    EXPECT_TRUE(window->session().schedule()->ok());
}

/// Opens a folder that has a damaged file and another file.
TEST_F(DamagedFiles, InAFolderDoNotHideTheOthers) {
    QTemporaryDir dropped;
    write_chain(dropped, 3, "a");
    ASSERT_TRUE(write_file(dropped.filePath("b.sweep.json").toStdString(), "{"));
    window->open({dropped.path()});
    ASSERT_TRUE(eventually([&] { return idle() && window->last_error().contains("b.sweep.json"); }));
    EXPECT_EQ(window->session().graph()->path.filename(), "a.graph.json");
}

}  // namespace
}  // namespace rematlas::explorer
