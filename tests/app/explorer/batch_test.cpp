// Tests the window's search for the largest batch size. A shell script stands in for the runtime.
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <nlohmann/json.hpp>

#include "app/explorer/jobs/batch_controller.h"
#include "core/base/files.h"
#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

constexpr int largest_known = 64;  ///< the largest batch size for which there is a graph
constexpr std::int64_t example = 1 << 20;

/// A chain whose tensors grow with the batch size. There is a graph file for each batch size. To capture, the
/// shell script copies the file for the batch size in its arguments.
class Batches : public Windows {
  protected:
    void SetUp() override {
        make_window();
        write("net.pt", "a model");
        for (int batch = 1; batch <= largest_known; ++batch) {
            Graph graph = chain(batch);
            ASSERT_TRUE(write_graph(graph, folder.filePath(QString::number(batch) + ".json").toStdString()));
        }
        runtime_is(QString("out=; for w in \"$@\"; do [ \"$last\" = -o ] && out=$w; "
                           "case $w in f32*) b=${w#f32[}; b=${b%%,*};; esac; last=$w; done\n"
                           "echo $b >> %1/asked\n[ -f %1/$b.json ] || { echo \"rematlas: no room for $b\" "
                           ">&2; exit 1; }\n"
                           "cp %1/$b.json \"$out\"\n")
                       .arg(folder.path()));
        Graph graph = chain(4);
        ASSERT_TRUE(write_graph(graph, folder.filePath("net.graph.json").toStdString()));
        open(folder.filePath("net.graph.json"));
    }
    void TearDown() override {
        window.reset();
        qunsetenv("REMATLAS_RUNTIME");
    }
    Graph chain(int batch) {
        Graph graph = training_chain(6, Bytes(example * batch), Nanoseconds(1000 * batch));
        graph.provenance = std::make_shared<nlohmann::json>(nlohmann::json{
            {"model", "net.pt"}, {"inputs", {"f32[" + std::to_string(batch) + ",3]"}}, {"device", "cpu"}});
        return graph;
    }
    void write(const QString& name, const QString& content) {
        QFile file(folder.filePath(name));
        ASSERT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(content.toUtf8());
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }
    void runtime_is(const QString& lines) {
        write("runtime", "#!/bin/sh\n" + lines);
        qputenv("REMATLAS_RUNTIME", folder.filePath("runtime").toUtf8());
    }
    Session& session() { return window->session(); }
    void ask_window() { session().budget.set_budget(Bytes(full(4).value * 3)), find_action()->trigger(); }
    QAction* find_action() {
        for (QAction* action : window->findChildren<QAction*>())
            if (action->shortcut() == QKeySequence("Ctrl+Shift+B")) return action;
        return nullptr;
    }
    Bytes full(int batch) { return prepare_graph(chain(batch), {}, {})->full_peak; }
    QString said() {
        return child<QLabel>("batch_headline")->text() + ' ' + child<QLabel>("batch_detail")->text();
    }
    bool answered() {
        return !session().batch.running() && !child<QLabel>("batch_headline")->text().isEmpty();
    }
};

TEST_F(Batches, TheQuestionIsFilledInFromWhatTheGraphWasCapturedWith) {
    ask_window();
    EXPECT_EQ(child<QLineEdit>("batch_model")->text(), folder.filePath("net.pt"));
    EXPECT_EQ(child<QPlainTextEdit>("batch_inputs")->toPlainText(), "f32[B,3]");
    EXPECT_EQ(child<QSpinBox>("batch_size")->value(), 8);
}

TEST_F(Batches, ABatchThatFitsSaysWhatItNeeds) {
    ask_window();
    child<QPushButton>("batch_one")->click();
    ASSERT_TRUE(eventually([&] { return answered(); }));
    EXPECT_TRUE(said().contains("A batch of 8 fits")) << said().toStdString();
    EXPECT_EQ(session().graph()->path.filename(), "net.graph.json") << "what is open stays";
}

TEST_F(Batches, ABatchThatFitsOnlyWithRecomputationSaysWhatItCostsAndCanBeOpened) {
    ask_window();
    child<QSpinBox>("batch_size")->setValue(16);
    child<QPushButton>("batch_one")->click();
    ASSERT_TRUE(eventually([&] { return answered(); }));
    EXPECT_TRUE(said().contains("A batch of 16 fits")) << said().toStdString();
    EXPECT_TRUE(said().contains("with recomputation")) << said().toStdString();
    child<QPushButton>("batch_open")->click();
    ASSERT_TRUE(eventually([&] { return idle() && session().graph()->path.filename() != "net.graph.json"; }));
    EXPECT_EQ(session().graph()->path.filename(), "net-batch16.graph.json");
    ASSERT_TRUE(eventually([&] { return session().schedule() && session().schedule()->reruns > 0; }));
    EXPECT_LE(session().schedule()->report.peak.value, full(4).value * 3);
}

TEST_F(Batches, AScheduleOfThatNameIsNotOverwritten) {
    const QString kept = folder.filePath("net-batch16.schedule.json");
    ASSERT_TRUE(write_file(kept.toStdString(), "of another graph"));
    ask_window();
    child<QSpinBox>("batch_size")->setValue(16);
    child<QPushButton>("batch_one")->click();
    ASSERT_TRUE(eventually([&] { return answered(); }));
    child<QPushButton>("batch_open")->click();
    ASSERT_TRUE(eventually([&] { return idle() && session().graph()->path.filename() != "net.graph.json"; }));
    EXPECT_EQ(session().graph()->path.filename(), "net-batch16-2.graph.json");
    EXPECT_EQ(*read_file(kept.toStdString()), "of another graph");
}

TEST_F(Batches, ABatchThatCannotFitSaysSo) {
    ask_window();
    child<QSpinBox>("batch_size")->setValue(largest_known);
    child<QPushButton>("batch_one")->click();
    ASSERT_TRUE(eventually([&] { return answered(); }));
    EXPECT_TRUE(said().contains("cannot fit")) << said().toStdString();
}

TEST_F(Batches, TheLargestIsFoundAndOneMoreIsJudged) {
    ask_window();
    child<QPushButton>("batch_largest")->click();
    ASSERT_TRUE(eventually([&] { return answered(); })) << said().toStdString();
    EXPECT_TRUE(said().startsWith("The largest batch is ")) << said().toStdString();
    const int largest = said().section(' ', 4, 4).remove('.').toInt();
    EXPECT_GT(largest, 12) << "more than without recomputation: " << said().toStdString();
    EXPECT_LT(largest, largest_known);
    EXPECT_TRUE(said().contains("Without recomputation 12 fit")) << said().toStdString();
}

TEST_F(Batches, ACaptureThatFailsIsToldWithItsReason) {
    ask_window();
    child<QSpinBox>("batch_size")->setValue(largest_known + 1);
    child<QPushButton>("batch_one")->click();
    ASSERT_TRUE(eventually([&] { return child<QLabel>("batch_error")->isVisible(); }));
    EXPECT_EQ(child<QLabel>("batch_error")->text(), "a batch of 65: no room for 65");
    child<QPlainTextEdit>("batch_inputs")->setPlainText("f32[4,3]");
    child<QPushButton>("batch_one")->click();
    ASSERT_TRUE(eventually([&] { return child<QLabel>("batch_error")->text().contains("dimension B"); }));
}

TEST_F(Batches, CancellingKillsTheCapture) {
    runtime_is(QString("echo $$ > %1/pid\nexec sleep 600\n").arg(folder.path()));
    ask_window();
    child<QPushButton>("batch_one")->click();
    ASSERT_TRUE(eventually([&] { return QFile::exists(folder.filePath("pid")); }));
    child<QPushButton>("batch_cancel")->click();
    EXPECT_FALSE(session().batch.running());
    QFile pid(folder.filePath("pid"));
    ASSERT_TRUE(pid.open(QIODevice::ReadOnly));
    const QString process = "/proc/" + pid.readAll().trimmed();
    EXPECT_TRUE(eventually([&] { return !QFile::exists(process); }));
    EXPECT_TRUE(child<QPushButton>("batch_one")->isEnabled());
}

TEST_F(Batches, AGraphThatDoesNotTellItsModelAsksForIt) {
    Graph graph = training_chain(4);
    ASSERT_TRUE(write_graph(graph, folder.filePath("other.graph.json").toStdString()));
    open(folder.filePath("other.graph.json"));
    find_action()->trigger();
    EXPECT_TRUE(child<QLabel>("batch_error")->text().contains("does not tell where its model is"));
}

}  // namespace
}  // namespace rematlas::explorer
