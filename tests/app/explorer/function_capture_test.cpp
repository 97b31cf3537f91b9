// Tests captures of Python functions from the window. They run in a real Python, but two packages made for
// the tests stand in for torch and rematlas. One test needs the real packages: it runs if
// REMATLAS_TEST_PYTHON names a Python that has both.
#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QProcess>
#include <QStandardPaths>
#include <QTest>
#include <QToolButton>

#include "app/explorer/files/python_source.h"
#include "app/explorer/look/theme.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

const char* const nets = R"(
import pathlib
pathlib.Path(__file__).with_name("was_run").touch()

def helper():
    return 3

def step(batch=4, *, length=128):
    """A GPT's step.

    More of it."""
    def inner():
        return 1
    return Model(), (batch, length), {}

def of_a_model(model):
    return model, ()

async def later():
    return 1, 2
)";

/// The stand-in for rematlas: writes its arguments into a file, and copies a graph to the output.
const char* const package = R"(
import json, os, pathlib, shutil, sys
here = pathlib.Path(__file__).parents[1]
here.joinpath("asked.json").write_text(json.dumps({"words": sys.argv[1:], "folder": os.getcwd()}))
shutil.copy(here / "made.graph.json", sys.argv[sys.argv.index("-o") + 1])
)";

class CapturedFunctions : public Windows {
  protected:
    void SetUp() override {
        python = QStandardPaths::findExecutable("python3");
        if (python.isEmpty()) GTEST_SKIP() << "there is no python3";
        make_window();
        QDir(folder.path()).mkpath("packages/rematlas");
        write("nets.py", nets);
        write("packages/torch.py", "");
        write("packages/rematlas/__init__.py", "");
        rematlas_is(package);
        write_chain(folder, 4, "packages/made");
        qputenv("PYTHONPATH", folder.filePath("packages").toUtf8());
        qputenv("REMATLAS_PYTHON", python.toUtf8());
    }
    void TearDown() override {
        for (const char* name : {"PYTHONPATH", "REMATLAS_PYTHON"}) qunsetenv(name);
    }
    QString write(const QString& name, const QString& content) {
        QFile file(folder.filePath(name));
        EXPECT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(content.toUtf8());
        return file.fileName();
    }
    void rematlas_is(const QString& lines) { write("packages/rematlas/__main__.py", lines); }
    QDialog* dialog() { return window->findChild<QDialog*>(); }
    template <class Widget>
    Widget* of_dialog(const char* name) {
        return dialog()->findChild<Widget*>(name);
    }
    bool python_has_answered() { return of_dialog<QLabel>("python_told")->text() != "Asking Python"; }
    void open_function(const QString& word) {
        window->open({word});
        ASSERT_TRUE(dialog()) << window->last_error().toStdString();
        ASSERT_TRUE(eventually([&] { return python_has_answered(); }));
    }
    void choose(const char* name, const QString& part) {
        auto* list = of_dialog<QComboBox>(name);
        const int at = list->findText(part, Qt::MatchContains);
        ASSERT_GE(at, 0) << part.toStdString();
        list->setCurrentIndex(at);
    }
    void capture() {
        dialog()->accept();
        ASSERT_TRUE(eventually([&] { return window->session().graph() != nullptr && idle(); }))
            << of_dialog<QLabel>("capture_error")->text().toStdString();
    }
    QJsonObject asked() {
        QFile file(folder.filePath("packages/asked.json"));
        return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object()
                                              : QJsonObject();
    }
    QStringList words() {
        QStringList words;
        for (const QJsonValue& word : asked()["words"].toArray()) words << word.toString();
        return words;
    }
    QString graph_file() { return folder.filePath("nets.graph.json"); }
    /// Saves a picture of the dialog in the light and in the dark theme. The folder is named by
    /// REMATLAS_KEEP_PICTURES; without it no picture is saved.
    void keep_picture(const QString& name) {
        const QString to = qEnvironmentVariable("REMATLAS_KEEP_PICTURES");
        if (to.isEmpty()) return;
        for (const bool dark : {false, true}) {
            theme::choose(dark ? theme::Choice::dark : theme::Choice::light);
            process_events();
            EXPECT_TRUE(dialog()->grab().save(to + '/' + name + (dark ? "_dark.png" : "_light.png")));
        }
        theme::choose(theme::Choice::light);
    }
    QString python;
};

TEST_F(CapturedFunctions, AreListedWithoutRunningTheFile) {
    open_function(folder.filePath("nets.py"));
    auto* list = of_dialog<QComboBox>("function");
    QStringList names;
    for (int at = 0; at < list->count(); ++at) names << list->itemText(at);
    EXPECT_EQ(names, (QStringList{"helper", "step: A GPT's step."}));
    EXPECT_EQ(list->currentData(), "step") << "it returns what a capture takes";
    EXPECT_EQ(of_dialog<QLineEdit>("keywords")->placeholderText(), "batch=4, length=128");
    EXPECT_EQ(of_dialog<QLineEdit>("graph_file")->text(), graph_file());
    EXPECT_FALSE(QFileInfo::exists(folder.filePath("was_run")));
    EXPECT_TRUE(of_dialog<QLabel>("python_told")->text().contains("with torch"));
    keep_picture("capture_function");
}

TEST_F(CapturedFunctions, ThatAreNotThereAreToldInFull) {
    open_function(write("none.py", "def of_a_model(model):\n    return model, ()\n"));
    const auto* about = of_dialog<QLabel>("function_about");
    ASSERT_TRUE(about->isVisible());
    EXPECT_TRUE(about->text().contains("return model"));
    process_events();
    EXPECT_GE(about->height(), about->heightForWidth(about->width()));
}

TEST_F(CapturedFunctions, StartOncePythonHasAnswered) {
    window->open({folder.filePath("nets.py:step")});
    ASSERT_TRUE(dialog());
    ASSERT_FALSE(python_has_answered());
    capture();
    EXPECT_EQ(words().value(1), "nets:step");
}

TEST_F(CapturedFunctions, AreAskedForAsOnTheCommandLine) {
    open_function(folder.filePath("nets.py"));
    capture();
    EXPECT_EQ(words(), (QStringList{"capture", "nets:step", "--progress-json", "-o", graph_file()}));
    EXPECT_EQ(QFileInfo(asked()["folder"].toString()), QFileInfo(folder.path()));
    EXPECT_EQ(QString::fromStdString(window->session().graph()->path.string()), graph_file());
}

TEST_F(CapturedFunctions, OfAPackageAreImportedFromAboveIt) {
    QDir(folder.path()).mkpath("zoo/vision");
    write("zoo/__init__.py", "");
    write("zoo/vision/__init__.py", "");
    open_function(write("zoo/vision/resnet.py", nets));
    capture();
    EXPECT_EQ(words().value(1), "zoo.vision.resnet:step");
    EXPECT_EQ(QFileInfo(asked()["folder"].toString()), QFileInfo(folder.path()));
}

TEST_F(CapturedFunctions, AreNamedAsModulesToo) {
    const QString before = QDir::currentPath();
    QDir::setCurrent(folder.path());
    open_function("nets:helper");
    QDir::setCurrent(before);
    EXPECT_EQ(of_dialog<QComboBox>("function")->currentData(), "helper");
    capture();
    EXPECT_EQ(words().value(1), "nets:helper");
}

TEST_F(CapturedFunctions, FromShapesTakeWhatOnlyShapesDo) {
    open_function(folder.filePath("nets.py") + ":step");
    auto* optimizer = of_dialog<QComboBox>("optimizer");
    const auto is_offered = [&](const QString& name) {
        return bool(optimizer->model()->flags(optimizer->model()->index(optimizer->findData(name), 0)) &
                    Qt::ItemIsEnabled);
    };
    EXPECT_TRUE(is_offered("adamw"));
    EXPECT_FALSE(is_offered("muon"));
    EXPECT_FALSE(of_dialog<QComboBox>("precision")->isEnabled());
    EXPECT_FALSE(of_dialog<QCheckBox>("values")->isEnabled());
    choose("device", "H100");
    EXPECT_TRUE(is_offered("muon"));
    choose("optimizer", "muon");
    choose("precision", "autocast to bf16");
    of_dialog<QCheckBox>("values")->setChecked(true);
    of_dialog<QLineEdit>("keywords")->setText("batch=8, length=512");
    capture();
    EXPECT_EQ(words(),
              (QStringList{"capture", "nets:step", "--set", "batch=8", "--set", "length=512", "--device",
                           "meta", "--device-profile", "h100", "--optimizer", "muon", "--autocast", "bf16",
                           "--values", "--progress-json", "-o", graph_file()}));
}

TEST_F(CapturedFunctions, AreAmongTheRecentFilesWithAllThatWasAsked) {
    open_function(folder.filePath("nets.py"));
    choose("device", "H100");
    choose("optimizer", "adamw");
    choose("precision", "weights in f32");
    of_dialog<QLineEdit>("keywords")->setText("batch=2");
    capture();
    const QStringList first = words();
    EXPECT_TRUE(first.contains("--master-weights"));
    const QString word = folder.filePath("nets.py") + ":step";
    EXPECT_TRUE(settings->value("recent").toStringList().contains(word));
    eventually([&] { return dialog() == nullptr; });
    open_function(word);
    EXPECT_EQ(of_dialog<QLineEdit>("keywords")->text(), "batch=2");
    of_dialog<QLineEdit>("graph_file")->setText(graph_file());
    dialog()->accept();  // only warns, because the graph file exists already
    QFile::remove(folder.filePath("packages/asked.json"));
    dialog()->accept();
    ASSERT_TRUE(eventually([&] { return words() == first; })) << words().join(' ').toStdString();
}

TEST_F(CapturedFunctions, ThatFailAreToldInASentenceWithTheProgramsLinesFolded) {
    rematlas_is(R"(
import sys
sys.stderr.write("Traceback (most recent call last):\n  File \"nets.py\", line 9, in step\n    boom()\n"
                 "ValueError: no such size\nrematlas: nets:step() raises ValueError: no such size\n")
sys.exit(2)
)");
    open_function(folder.filePath("nets.py"));
    dialog()->accept();
    EXPECT_FALSE(dialog()->isVisible());
    ASSERT_TRUE(eventually([&] { return dialog()->isVisible(); }));
    EXPECT_EQ(of_dialog<QLabel>("capture_error")->text(), "nets:step() raises ValueError: no such size");
    auto* where = of_dialog<QPlainTextEdit>("capture_traceback");
    auto* fold = of_dialog<QToolButton>("capture_where");
    EXPECT_FALSE(where->isVisible());
    ASSERT_TRUE(fold->isVisible());
    QTest::keyClick(fold, Qt::Key_Space);
    EXPECT_TRUE(where->isVisible());
    EXPECT_TRUE(where->toPlainText().contains("    boom()")) << "with the indentation";
    EXPECT_FALSE(where->toPlainText().contains("rematlas: "));
    keep_picture("capture_failed");
    EXPECT_FALSE(QFileInfo::exists(graph_file()));
}

TEST_F(CapturedFunctions, ThatPythonCannotRunNameThePythonThatWasTried) {
    rematlas_is("raise ImportError('libtorch_cpu.so is damaged')");
    open_function(folder.filePath("nets.py"));
    dialog()->accept();
    ASSERT_TRUE(eventually([&] { return dialog()->isVisible(); }));
    const QString error = of_dialog<QLabel>("capture_error")->text();
    EXPECT_TRUE(error.contains("python3")) << error.toStdString();
    EXPECT_TRUE(error.contains("libtorch_cpu.so is damaged")) << error.toStdString();
}

TEST_F(CapturedFunctions, NeedAPythonThatHasTorchAndThePackage) {
    QDir(folder.filePath("packages/rematlas")).removeRecursively();
    open_function(folder.filePath("nets.py"));
    const QString told = of_dialog<QLabel>("python_told")->text();
    EXPECT_TRUE(told.contains("python") && told.contains("lacks rematlas")) << told.toStdString();
    dialog()->accept();
    EXPECT_TRUE(dialog()->isVisible());
    EXPECT_EQ(of_dialog<QLabel>("capture_error")->text(), told);
    EXPECT_TRUE(asked().isEmpty()) << "it was not tried";
}

TEST_F(CapturedFunctions, RunInTheEnvironmentThatIsChosenAndItIsRemembered) {
    qputenv("REMATLAS_PYTHON", folder.filePath("no/python3").toUtf8());
    open_function(folder.filePath("nets.py"));
    EXPECT_TRUE(of_dialog<QLabel>("python_told")->text().contains("cannot be started"));
    QDir(folder.path()).mkpath("environment/bin");
    ASSERT_TRUE(QFile::link(python, folder.filePath("environment/bin/python3")));
    auto* field = of_dialog<QLineEdit>("python");
    field->setFocus();
    QTest::keyClicks(field, folder.filePath("environment"));
    emit field->editingFinished();
    ASSERT_TRUE(eventually([&] { return of_dialog<QComboBox>("function")->count() == 2; }));
    capture();
    EXPECT_EQ(settings->value("python").toString(), folder.filePath("environment"));
    eventually([&] { return dialog() == nullptr; });
    open_function(folder.filePath("nets.py"));
    EXPECT_EQ(of_dialog<QLineEdit>("python")->text(), folder.filePath("environment"));
}

TEST_F(CapturedFunctions, OfFilesThatHaveNoneOrAreBrokenSayWhatToDo) {
    struct {
        const char *content, *word, *told;
    } files[] = {{"def f(x):\n    return x\n", "bare.py", "def step():"},
                 {"def f(:\n", "bare.py", "line 1"},
                 {nets, "bare.py:of_a_model", "of_a_model is no function"}};
    for (const auto& [content, word, told] : files) {
        write("bare.py", content);
        open_function(folder.filePath(word));
        EXPECT_TRUE(of_dialog<QLabel>("function_about")->text().contains(told))
            << of_dialog<QLabel>("function_about")->text().toStdString();
        dialog()->accept();
        EXPECT_TRUE(dialog()->isVisible()) << told;
        EXPECT_TRUE(of_dialog<QLabel>("capture_error")->text().contains(told));
        delete dialog();
    }
    window->open({folder.filePath("absent.py")});
    EXPECT_TRUE(window->last_error().contains("cannot be read"));
}

TEST_F(CapturedFunctions, TakeKeywordsByTheirNames) {
    open_function(folder.filePath("nets.py"));
    of_dialog<QLineEdit>("keywords")->setText("batch=8 512");
    dialog()->accept();
    EXPECT_TRUE(of_dialog<QLabel>("capture_error")->text().contains("'512' is no keyword"));
    EXPECT_TRUE(asked().isEmpty());
}

TEST_F(CapturedFunctions, TellInTheStatusBarWhatTheyDoAndForHowLong) {
    rematlas_is(
        "import sys, time\nprint('{\"stage\": \"record\"}', file=sys.stderr, flush=True)\n"
        "time.sleep(600)");
    open_function(folder.filePath("nets.py"));
    dialog()->accept();
    const auto says = [&](const QString& words) {
        for (QLabel* label : window->findChildren<QLabel*>())
            if (label->isVisible() && label->text().contains(words)) return true;
        return false;
    };
    EXPECT_TRUE(eventually([&] { return says("Running one training step and noting what it does"); }));
    EXPECT_TRUE(eventually([&] { return says("noting what it does, 1 s"); })) << "time goes on";
    QToolButton* cancel = nullptr;
    for (auto* button : window->findChildren<QToolButton*>())
        if (button->isVisible() && button->accessibleName() == "Cancel") cancel = button;
    ASSERT_TRUE(cancel);
    cancel->click();
    EXPECT_FALSE(window->session().capture.running());
    EXPECT_FALSE(says("noting what it does"));
}

TEST_F(CapturedFunctions, CanBeCancelled) {
    rematlas_is("import time\ntime.sleep(600)");
    open_function(folder.filePath("nets.py"));
    dialog()->accept();
    ASSERT_TRUE(eventually([&] { return window->session().capture.running(); }));
    window->session().cancel_all();
    EXPECT_FALSE(window->session().capture.running());
    EXPECT_TRUE(eventually([&] { return dialog() == nullptr; }));
}

TEST(PythonSources, AreToldFromOtherFiles) {
    EXPECT_EQ(python_source("/models/nets.py:step"),
              (PythonSource{.file = "/models/nets.py", .module = {}, .folder = {}, .function = "step"}));
    EXPECT_EQ(python_source("/models/nets.py")->function, "");
    EXPECT_EQ(python_source("zoo.vision:resnet")->module, "zoo.vision");
    EXPECT_EQ(python_source("zoo.vision:resnet")->function, "resnet");
    for (const char* other : {"gpt.graph.json", "/models/gpt.pt", "cuda:1", "nets.pyc", "c:"})
        EXPECT_FALSE(python_source(other)) << other;
}

/// Returns the content of a graph file without the times of its ops, because each capture measures them anew.
QByteArray without_times(const QString& file) {
    QFile graph(file);
    EXPECT_TRUE(graph.open(QIODevice::ReadOnly)) << file.toStdString();
    QJsonObject all = QJsonDocument::fromJson(graph.readAll()).object();
    QJsonArray ops = all["ops"].toArray();
    for (QJsonValueRef value : ops) {
        QJsonObject op = value.toObject();
        op.remove("time_ns");
        value = op;
    }
    all["ops"] = ops;
    return QJsonDocument(all).toJson();
}

TEST_F(CapturedFunctions, GiveTheGraphOfTheCommandLine) {
    const QString real = qEnvironmentVariable("REMATLAS_TEST_PYTHON");
    if (real.isEmpty()) GTEST_SKIP() << "REMATLAS_TEST_PYTHON names no Python with torch and rematlas";
    qputenv("REMATLAS_PYTHON", real.toUtf8());
    qputenv("PYTHONPATH", REMATLAS_SOURCE_DIR "/runtime/python");
    write("nets.py",
          "import torch\n\ndef step(batch=4):\n"
          "    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))\n"
          "    return model, (torch.randn(batch, 8),)\n");
    const struct {
        QString device;
        QStringList words;
    } ways[] = {{"H100", {"--device", "meta", "--device-profile", "h100", "--optimizer", "adamw"}},
                {"where the function", {"--optimizer", "adamw"}}};
    int number = 0;
    for (const auto& [device, options] : ways) {
        const QString mine = folder.filePath(QString("mine%1.graph.json").arg(++number)),
                      its = folder.filePath(QString("its%1.graph.json").arg(number));
        QProcess command;
        command.setWorkingDirectory(folder.path());
        command.start(real, QStringList{"-m", "rematlas", "capture", "nets:step", "-o", its} + options);
        ASSERT_TRUE(command.waitForFinished(300'000));
        ASSERT_EQ(command.exitCode(), 0) << command.readAllStandardError().toStdString();
        open_function(folder.filePath("nets.py:step"));
        choose("device", device);
        choose("optimizer", "adamw");
        of_dialog<QLineEdit>("graph_file")->setText(mine);
        dialog()->accept();
        for (int wait = 0; wait < 3000 && window->session().capture.running(); ++wait) QTest::qWait(100);
        ASSERT_TRUE(eventually([&] { return QFileInfo::exists(mine); }))
            << of_dialog<QLabel>("capture_error")->text().toStdString();
        if (options.contains("meta")) {
            QFile one(mine), other(its);
            ASSERT_TRUE(one.open(QIODevice::ReadOnly) && other.open(QIODevice::ReadOnly));
            EXPECT_EQ(one.readAll(), other.readAll()) << "to the byte";
        }
        EXPECT_EQ(without_times(mine), without_times(its)) << device.toStdString();
        ASSERT_TRUE(eventually([&] { return dialog() == nullptr && idle(); }));
    }
}

}  // namespace
}  // namespace rematlas::explorer
