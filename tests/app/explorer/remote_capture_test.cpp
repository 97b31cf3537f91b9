// Tests captures on another machine. A stand-in for ssh runs the commands on this machine. A real Python is
// used, but a package made for the tests stands in for rematlas.
#include <signal.h>

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QProcess>
#include <QStandardPaths>

#include "app/explorer/files/python_source.h"
#include "app/explorer/jobs/remote_python.h"
#include "tests/app/explorer/remote_fixture.h"

namespace rematlas::explorer {
namespace {

const char* const remote_nets = R"(
import pathlib
pathlib.Path(__file__).with_name("was_run").touch()

def step(batch=4, *, length=128):
    "A step of a GPT."
    return Model(), (batch, length), {}
)";

/// The stand-in for rematlas: writes its arguments into a file, reports a stage, and copies a graph to the
/// output.
const char* const remote_package = R"(
import json, os, pathlib, shutil, sys
here = pathlib.Path(__file__).parents[1]
here.joinpath("asked.json").write_text(json.dumps({"words": sys.argv[1:], "folder": os.getcwd()}))
print('{"stage": "record"}', file=sys.stderr, flush=True)
shutil.copy(here / "made.graph.json", sys.argv[sys.argv.index("-o") + 1])
)";

/// A name with all kinds of characters that a shell might interpret.
const char* const odd_name = "it's $(touch gone) \"ümlaut\" `x` ; & nets";

class RemoteCaptures : public RemoteMachine {
  protected:
    void SetUp() override {
        python = QStandardPaths::findExecutable("python3");
        if (python.isEmpty()) GTEST_SKIP() << "there is no python3";
        RemoteMachine::SetUp();
        QDir(folder.path()).mkpath("packages/rematlas");
        write("packages/torch.py", "");
        write("packages/rematlas/__init__.py", "");
        rematlas_is(remote_package);
        write_chain(folder, 4, "packages/made");
        qputenv("PYTHONPATH", folder.filePath("packages").toUtf8());
        qputenv("REMATLAS_PYTHON", python.toUtf8());
    }
    void TearDown() override {
        for (const char* name : {"PYTHONPATH", "REMATLAS_PYTHON"}) qunsetenv(name);
        if (!python.isEmpty()) RemoteMachine::TearDown();
    }
    QString write(const QString& name, const QByteArray& content) {
        QDir(folder.path()).mkpath(QFileInfo(name).path());
        QFile file(folder.filePath(name));
        EXPECT_TRUE(file.open(QIODevice::WriteOnly)) << name.toStdString();
        file.write(content);
        return file.fileName();
    }
    void rematlas_is(const QByteArray& lines) { write("packages/rematlas/__main__.py", lines); }
    QDialog* dialog() { return window->findChild<QDialog*>(); }
    template <class Widget>
    Widget* of_dialog(const char* name) {
        return dialog()->findChild<Widget*>(name);
    }
    QString told() { return of_dialog<QLabel>("python_told")->text(); }
    void open_function(const QString& word) {
        window->open({word});
        ASSERT_TRUE(dialog()) << window->last_error().toStdString();
        ASSERT_TRUE(eventually([&] { return !told().startsWith("Asking Python"); }));
    }
    void capture() {
        dialog()->accept();
        ASSERT_TRUE(eventually([&] { return session().graph() != nullptr && idle(); }))
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
    /// Returns the process id that a stand-in has written into the file; 0 if there is no file.
    pid_t process_in(const QString& name) {
        QFile file(folder.filePath(name));
        return file.open(QIODevice::ReadOnly) ? static_cast<pid_t>(file.readAll().trimmed().toInt()) : 0;
    }
    /// Writes a script that stands in for the Python of an environment. The script adds a line to the file
    /// `used`, and then runs the real Python.
    QString write_python(const QString& name) {
        const QString file = write(name, "#!/bin/sh\necho used >>'" + folder.filePath("used").toUtf8() +
                                             "'\nexec '" + python.toUtf8() + "' \"$@\"\n");
        QFile::setPermissions(file, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        return file;
    }
    int pythons_used() {
        QFile file(folder.filePath("used"));
        return file.open(QIODevice::ReadOnly) ? file.readAll().count("used") : 0;
    }
    void name_python(const QString& named) {
        auto* field = of_dialog<QLineEdit>("python");
        field->setText(named);
        field->setModified(true);
        emit field->editingFinished();
    }
    QString python;
};

TEST_F(RemoteCaptures, OfAFunctionAreAskedForAsOnThatMachineAndOpenItsGraph) {
    const QString file = write("nets.py", remote_nets);
    open_function(there(file));
    EXPECT_TRUE(told().contains("with torch")) << told().toStdString();
    EXPECT_EQ(of_dialog<QComboBox>("function")->currentData(), "step");
    EXPECT_EQ(of_dialog<QLineEdit>("keywords")->placeholderText(), "batch=4, length=128");
    EXPECT_EQ(of_dialog<QLineEdit>("graph_file")->text(), folder.filePath("nets.graph.json"));
    EXPECT_FALSE(QFileInfo::exists(folder.filePath("was_run"))) << "the file is not run";
    of_dialog<QLineEdit>("keywords")->setText("batch=8");
    capture();
    const QString graph = folder.filePath("nets.graph.json");
    EXPECT_EQ(words(),
              (QStringList{"capture", "nets:step", "--set", "batch=8", "--progress-json", "-o", graph}));
    EXPECT_EQ(QFileInfo(asked()["folder"].toString()), QFileInfo(folder.path()));
    EXPECT_TRUE(QFileInfo::exists(graph)) << "it stays there, too";
    ASSERT_TRUE(session().solver.host()) << "solvers run there";
    EXPECT_EQ(session().solver.host()->name, "gpu");
    EXPECT_EQ(hosts().count("gpu\n"), 2) << "one for the survey, one for the capture and its graph";
    const QStringList recent = settings->value("recent").toStringList();
    EXPECT_TRUE(recent.contains("ssh://gpu" + file + ":step")) << recent.join(' ').toStdString();
    EXPECT_TRUE(recent.contains("ssh://gpu" + graph)) << recent.join(' ').toStdString();
}

TEST_F(RemoteCaptures, AreAskedAgainFromTheRecentFiles) {
    open_function(there(write("nets.py", remote_nets)) + ":step");
    of_dialog<QLineEdit>("keywords")->setText("batch=2");
    of_dialog<QLineEdit>("python")->setText(python);
    capture();
    eventually([&] { return dialog() == nullptr; });
    window->session().close();
    process_events();
    auto* list = window->findChild<QListWidget*>();
    ASSERT_TRUE(list);
    QStringList rows;
    for (int row = 0; row < list->count(); ++row) rows << list->item(row)->text();
    EXPECT_TRUE(rows.contains("nets.py:step   in ssh://gpu" + folder.path())) << rows.join('|').toStdString();
    open_function(settings->value("recent").toStringList().filter(":step").value(0));
    EXPECT_EQ(of_dialog<QLineEdit>("keywords")->text(), "batch=2");
    EXPECT_EQ(of_dialog<QLineEdit>("python")->text(), python);
    EXPECT_EQ(of_dialog<QLineEdit>("graph_file")->text(), folder.filePath("nets-2.graph.json"));
    of_dialog<QLineEdit>("graph_file")->setText("nets.graph.json");
    dialog()->accept();
    EXPECT_TRUE(of_dialog<QLabel>("capture_error")->text().contains("there already"));
    QFile::remove(folder.filePath("packages/asked.json"));
    dialog()->accept();
    EXPECT_TRUE(eventually([&] { return !words().isEmpty() && idle(); })) << "who says so twice replaces it";
    EXPECT_EQ(settings->value("python").toString(), "") << "it is no Python of this machine";
}

TEST_F(RemoteCaptures, TakeAnyNameAsOneWord) {
    const QString name = QString::fromUtf8(odd_name);
    open_function(there(write(name + "/nets.py", remote_nets)) + ":step");
    EXPECT_EQ(of_dialog<QComboBox>("function")->count(), 1) << told().toStdString();
    of_dialog<QLineEdit>("keywords")->setText("text='$(touch${IFS}gone)'");
    of_dialog<QLineEdit>("graph_file")->setText(folder.filePath(name + ".graph.json"));
    capture();
    EXPECT_EQ(words().value(3), "text='$(touch${IFS}gone)'");
    EXPECT_EQ(words().last(), folder.filePath(name + ".graph.json"));
    EXPECT_EQ(QFileInfo(asked()["folder"].toString()), QFileInfo(folder.filePath(name)));
    for (const QString& place : {folder.path(), QDir::homePath(), QDir::currentPath(), QString("/")})
        EXPECT_FALSE(QFileInfo::exists(QDir(place).filePath("gone"))) << place.toStdString();
}

TEST_F(RemoteCaptures, RunThePythonThatIsNamed) {
    const QString name = QString::fromUtf8(odd_name);
    write_python(name + "/bin/python3");
    open_function(there(write("nets.py", remote_nets)));
    EXPECT_EQ(pythons_used(), 0);
    name_python(folder.filePath(name));
    EXPECT_TRUE(eventually([&] { return pythons_used() == 1 && told().contains("with torch"); }));
    capture();
    EXPECT_EQ(settings->value("python_on/gpu").toString(), folder.filePath(name));
}

TEST_F(RemoteCaptures, NameThePythonThatIsNotThere) {
    open_function(there(write("nets.py", remote_nets)));
    name_python("/nowhere/python3");
    ASSERT_TRUE(eventually([&] { return told().contains("no Python that can be asked"); }));
    EXPECT_TRUE(told().contains("/nowhere/python3 on gpu")) << told().toStdString();
}

TEST_F(RemoteCaptures, RunThePythonThatTheProgramThereBelongsTo) {
    qunsetenv("REMATLAS_PYTHON");
    const QString there_python = write_python("environment/bin/python3");
    QFile program(folder.filePath("bin/rematlas"));
    ASSERT_TRUE(program.open(QIODevice::WriteOnly));
    program.write("#!" + there_python.toUtf8() + "\nimport rematlas_command\n");
    program.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    program.close();
    open_function(there(write("nets.py", remote_nets)));
    EXPECT_EQ(pythons_used(), 1) << told().toStdString();
}

TEST_F(RemoteCaptures, OnAMachineThatIsAwayAreToldSo) {
    open_function("ssh://away/nets.py");
    EXPECT_TRUE(told().contains("no route")) << told().toStdString();
    EXPECT_TRUE(told().contains("password"));
    dialog()->accept();
    EXPECT_TRUE(dialog()->isVisible());
    EXPECT_FALSE(python_source("ssh://-oProxyCommand=touch/nets.py")) << "no host begins with a dash";
    window->open({"ssh://-oProxyCommand=touch/nets.py:step"});
    EXPECT_TRUE(eventually([&] { return window->last_error().contains("is not of the form"); }))
        << window->last_error().toStdString();
}

TEST_F(RemoteCaptures, ThatFailBringTheDialogBackWithTheReason) {
    rematlas_is(R"(
import sys
sys.stderr.write("Traceback (most recent call last):\n  File \"nets.py\", line 9, in step\n    boom()\n"
                 "ValueError: no such size\nrematlas: nets:step() raises ValueError: no such size\n")
sys.exit(2)
)");
    open_function(there(write("nets.py", remote_nets)));
    dialog()->accept();
    ASSERT_TRUE(eventually([&] { return dialog()->isVisible(); }));
    EXPECT_EQ(of_dialog<QLabel>("capture_error")->text(), "nets:step() raises ValueError: no such size");
    EXPECT_TRUE(of_dialog<QPlainTextEdit>("capture_traceback")->toPlainText().contains("    boom()"));
    rematlas_is("import os, signal; os.kill(os.getpid(), signal.SIGKILL)");
    dialog()->accept();
    ASSERT_TRUE(eventually([&] { return dialog()->isVisible(); }));
    EXPECT_TRUE(of_dialog<QLabel>("capture_error")->text().contains("crashed"));
    EXPECT_FALSE(session().graph());
}

TEST_F(RemoteCaptures, ThatAreCancelledEndThereWithAllThatTheyStarted) {
    rematlas_is(R"py(
import os, pathlib, subprocess, sys, time
here = pathlib.Path(__file__).parents[1]
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
here.joinpath("child").write_text(str(child.pid))
here.joinpath("started").write_text(str(os.getpid()))
time.sleep(600)
)py");
    open_function(there(write("nets.py", remote_nets)));
    dialog()->accept();
    ASSERT_TRUE(eventually([&] { return process_in("packages/started") > 0; }));
    const pid_t started = process_in("packages/started"), child = process_in("packages/child");
    EXPECT_EQ(::kill(started, 0), 0);
    window->session().cancel_all();
    EXPECT_FALSE(session().capture.running());
    const auto is_over = [](pid_t process) {
        QFile state(QString("/proc/%1/stat").arg(process));
        return !state.open(QIODevice::ReadOnly) || state.readAll().contains(") Z ");
    };
    EXPECT_TRUE(eventually([&] { return is_over(started) && is_over(child); }));
    EXPECT_TRUE(eventually([&] { return dialog() == nullptr; }));
}

TEST_F(RemoteCaptures, TellWhatTheyDo) {
    rematlas_is(
        "import sys, time\nprint('{\"stage\": \"record\"}', file=sys.stderr, flush=True)\n"
        "time.sleep(600)\n");
    open_function(there(write("nets.py", remote_nets)));
    dialog()->accept();
    const auto says = [&](const QString& words) {
        for (QLabel* label : window->findChildren<QLabel*>())
            if (label->text().contains(words)) return true;
        return false;
    };
    EXPECT_TRUE(eventually([&] { return says("Running one training step and noting what it does, 1 s"); }));
    window->session().capture.cancel();
}

TEST_F(RemoteCaptures, OfAModelsFileAreAskedForWithItsInputsAndTheProgramThere) {
    const QString model = write("net.pt", QByteArray("PK\x03\x04 net/code/__torch__.py net/constants.pkl"));
    write("net.json", R"({"inputs": ["f32[2,3]"]})");
    write_program("rematlas", "echo \"$@\" >'" + folder.filePath("asked").toUtf8() +
                                  "'\nwhile [ $# -gt 1 ]; do [ \"$1\" = -o ] && cp '" +
                                  folder.filePath("packages/made.graph.json").toUtf8() +
                                  "' \"$2\"; shift; done\n");
    window->open({there(model)});
    ASSERT_TRUE(eventually([&] { return dialog() != nullptr; })) << window->last_error().toStdString();
    EXPECT_EQ(of_dialog<QPlainTextEdit>("inputs")->toPlainText(), "f32[2,3]");
    EXPECT_EQ(of_dialog<QLineEdit>("graph_file")->text(), folder.filePath("net.graph.json"));
    capture();
    QFile asked(folder.filePath("asked"));
    ASSERT_TRUE(asked.open(QIODevice::ReadOnly));
    EXPECT_EQ(QString(asked.readAll().trimmed()), "capture " + model + " --input f32[2,3] -o " +
                                                      folder.filePath("net.graph.json") + " --progress-json");
    EXPECT_TRUE(session().solver.host());
    EXPECT_TRUE(settings->value("recent").toStringList().contains("ssh://gpu" + model));
}

TEST_F(RemoteCaptures, OfWhatIsNoModelSayWhatToDo) {
    window->open({there(write("noise.pt", "no TorchScript"))});
    ASSERT_TRUE(eventually([&] { return dialog() != nullptr; })) << window->last_error().toStdString();
    EXPECT_FALSE(of_dialog<QLabel>("what")->text().isEmpty());
    delete dialog();
    window->open({there(folder.filePath("absent.pt"))});
    ASSERT_TRUE(eventually([&] { return !window->last_error().isEmpty(); }));
    EXPECT_TRUE(window->last_error().contains("No such file")) << window->last_error().toStdString();
}

}  // namespace
}  // namespace rematlas::explorer
