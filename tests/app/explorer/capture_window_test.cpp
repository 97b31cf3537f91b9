// Tests captures from the window. Shell scripts stand in for the runtime.
#include <QApplication>
#include <QClipboard>
#include <QDialog>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTest>

#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

/// The beginning of a file that is recognized as TorchScript.
const char* const torch_script = "PK\x03\x04 net/code/__torch__.py net/constants.pkl";

class Captures : public Windows {
  protected:
    void SetUp() override {
        make_window();
        model = folder.filePath("net.pt");
        write("net.pt", torch_script);
        write("net.json", R"({"inputs": ["f32[2,3]"]})");
    }
    void TearDown() override { qunsetenv("REMATLAS_RUNTIME"); }
    void write(const QString& name, const QString& content) {
        QFile file(folder.filePath(name));
        ASSERT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(content.toUtf8());
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }
    /// Sets the lines of the shell script that stands in for the runtime.
    void runtime_is(const QString& lines) {
        write("runtime", "#!/bin/sh\n" + lines);
        qputenv("REMATLAS_RUNTIME", folder.filePath("runtime").toUtf8());
    }
    QDialog* dialog() { return window->findChild<QDialog*>(); }
    QString error() { return dialog()->findChild<QLabel*>("capture_error")->text(); }
    QString model;
};

TEST_F(Captures, AModelIsCapturedWithTheInputsFromBesideIt) {
    const QString graph = write_chain(folder, 4, "captured");
    // This script writes its arguments into a file and copies a graph to the output.
    runtime_is(
        QString(
            "echo \"$@\" > %1/asked\nwhile [ $# -gt 1 ]; do [ \"$1\" = -o ] && cp %2 \"$2\"; shift; done\n")
            .arg(folder.path(), graph));
    window->open({model});
    ASSERT_TRUE(dialog());
    EXPECT_EQ(dialog()->findChild<QPlainTextEdit*>("inputs")->toPlainText(), "f32[2,3]");
    dialog()->accept();
    ASSERT_TRUE(eventually([&] { return window->session().graph() != nullptr; }))
        << window->last_error().toStdString();
    EXPECT_EQ(window->session().graph()->path.filename(), "net.graph.json");
    EXPECT_EQ(settings->value("recent").toStringList().size(), 2) << "the model and its graph";
    QFile asked(folder.filePath("asked"));
    ASSERT_TRUE(asked.open(QIODevice::ReadOnly));
    EXPECT_TRUE(asked.readAll().contains("--input f32[2,3]"));
}

TEST_F(Captures, AGraphThatIsThereIsReplacedOnlyByWhoSaysSoTwice) {
    const QString there = folder.filePath("net.graph.json");
    write("net.graph.json", "schedules belong to this");
    runtime_is("while [ $# -gt 1 ]; do [ \"$1\" = -o ] && echo new > \"$2\"; shift; done\n");
    window->open({model});
    auto* file = dialog()->findChild<QLineEdit*>("graph_file");
    EXPECT_EQ(QFileInfo(file->text()).fileName(), "net-2.graph.json");
    file->setText(there);
    dialog()->accept();
    EXPECT_TRUE(error().contains("there already")) << error().toStdString();
    EXPECT_FALSE(window->session().capture.running());
    dialog()->accept();
    ASSERT_TRUE(eventually([&] { return QFileInfo(there).size() == 4; }));
}

TEST_F(Captures, ThatFailBringTheDialogBackWithTheReasonAndLeaveNoTrace) {
    runtime_is("echo 'rematlas: the shapes do not match' >&2; exit 2\n");
    window->open({model});
    dialog()->findChild<QPlainTextEdit*>("inputs")->setPlainText("f32[9,9]");
    dialog()->accept();
    EXPECT_FALSE(dialog()->isVisible());
    ASSERT_TRUE(eventually([&] { return dialog()->isVisible(); }));
    EXPECT_TRUE(error().contains("the shapes do not match"));
    EXPECT_EQ(dialog()->findChild<QPlainTextEdit*>("inputs")->toPlainText(), "f32[9,9]");
    EXPECT_TRUE(settings->value("recent").toStringList().isEmpty());
    dialog()->reject();
    process_events();
    window->open({model});
    EXPECT_EQ(window->findChildren<QDialog*>().last()->findChild<QPlainTextEdit*>("inputs")->toPlainText(),
              "f32[2,3]")
        << "shapes that did not work are not remembered";
}

TEST_F(Captures, OfATorchScriptFileThatCannotBeLoadedSayHowToMakeAnother) {
    runtime_is("echo 'rematlas: net.pt: not a TorchScript file: PytorchStreamReader failed' >&2; exit 2\n");
    window->open({model});
    dialog()->accept();
    ASSERT_TRUE(eventually([&] { return dialog()->isVisible(); }));
    EXPECT_TRUE(error().contains("torch.jit.script(model).save"));
    EXPECT_TRUE(error().contains("python3 -m rematlas capture"));
    EXPECT_FALSE(error().contains("PytorchStreamReader"));
}

TEST_F(Captures, OfWhatIsNoTorchScriptFileAreNotTriedAndLinesToCopyAreShown) {
    write("runtime", "#!/bin/sh\ntouch " + folder.filePath("was_asked") + "\n");
    qputenv("REMATLAS_RUNTIME", folder.filePath("runtime").toUtf8());
    for (const char* name : {"noise.pt", "model.onnx"}) {
        write(name, "no TorchScript");
        window->open({folder.filePath(name)});
        ASSERT_TRUE(dialog()) << name;
        EXPECT_FALSE(dialog()->findChild<QLabel*>("what")->text().isEmpty());
        auto* lines = dialog()->findChild<QPlainTextEdit*>("script_lines");
        EXPECT_TRUE(lines->toPlainText().contains("torch.jit.script(model).save"));
        QTest::mouseClick(dialog()->findChildren<QPushButton*>().first(), Qt::LeftButton);
        EXPECT_EQ(QApplication::clipboard()->text(), lines->toPlainText());
        dialog()->reject();
        delete dialog();
    }
    EXPECT_FALSE(QFileInfo::exists(folder.filePath("was_asked")));
}

TEST_F(Captures, OfAnExportedProgramNeedNoInputs) {
    runtime_is("echo \"$@\" > " + folder.filePath("asked") + "; exec sleep 600\n");
    write("program.pt2", "PK\x03\x04 net/archive_format pt2");
    window->open({folder.filePath("program.pt2")});
    ASSERT_TRUE(dialog());
    dialog()->accept();
    ASSERT_TRUE(eventually([&] { return QFileInfo(folder.filePath("asked")).size() > 0; }))
        << window->last_error().toStdString();
    QFile asked(folder.filePath("asked"));
    ASSERT_TRUE(asked.open(QFile::ReadOnly));
    const QString line = asked.readAll();
    EXPECT_TRUE(line.startsWith("capture ") && !line.contains("--input")) << line.toStdString();
}

TEST_F(Captures, TellInTheStatusBarWhatTheyDo) {
    runtime_is("echo '{\"stage\": \"profile\", \"fraction\": 0.5}' >&2\nexec sleep 600\n");
    window->open({model});
    dialog()->accept();
    const auto says = [&](const QString& words) {
        for (QLabel* label : window->findChildren<QLabel*>())
            if (label->text().contains(words)) return true;
        return false;
    };
    EXPECT_TRUE(eventually([&] { return says("Measuring the time of each operation"); }));
    window->session().capture.cancel();
}

/// The runtime kills itself, as the kernel kills a process when memory runs out.
TEST_F(Captures, WhoseRuntimeIsKilledSayThatNothingElseIsHarmed) {
    open(write_chain(folder, 3));
    const GraphPtr before = window->session().graph();
    runtime_is("kill -KILL $$\n");
    window->open({model});
    dialog()->accept();
    ASSERT_TRUE(eventually([&] { return dialog()->isVisible(); }));
    EXPECT_TRUE(error().contains("crashed")) << error().toStdString();
    EXPECT_EQ(window->session().graph(), before);
}

}  // namespace
}  // namespace rematlas::explorer
