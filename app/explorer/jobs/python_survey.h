// Finds, on this or another machine, which functions of a Python file can be captured, without running the
// file, and whether a Python interpreter can capture them.
//
//     reader.read(python, {.file = "/models/nets.py"});       // found(survey), or failed(message)
#pragma once

#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

#include "app/explorer/jobs/remote_host.h"
#include "app/explorer/jobs/tied_process.h"

namespace rematlas::explorer {

/// Where to look for a function that makes a model: a file, or a module and the folder that it is imported
/// from.
struct PythonSource {
    QString file;  ///< empty: `module` is imported from `folder`
    QString module, folder;
    QString function = {};                ///< empty: the person has still to choose
    std::optional<RemoteHost> host = {};  ///< the machine of the file; none: this one
    bool operator==(const PythonSource&) const = default;
};

/// A function that can be called without arguments.
struct PythonFunction {
    QString name;
    QString about;     ///< the first line of its documentation
    QString keywords;  ///< keyword arguments with their defaults: batch=8, length=128
    bool likely;       ///< the function returns as many values as a capture takes
};

struct PythonSurvey {
    QString python, version;  ///< path and version of the interpreter that was asked
    QString torch, rematlas;  ///< versions; empty: not installed
    bool has_gpu = false;
    QStringList gpus = {};  ///< names of the GPUs, as far as the driver tells
    /// The file, its module name, and the folder from which the module is imported
    QString file, module, folder;
    std::vector<PythonFunction> functions;
    QString problem;          ///< why the file cannot be used; empty: it can
    QString graph = {};       ///< the name of a graph file that does not exist yet
    QStringList graphs = {};  ///< graph files that exist in the folder of `graph`
    // The following two are of a model's file:
    QByteArray ends = {};    ///< the first and last mebibyte, or the whole file
    QByteArray beside = {};  ///< the text of the file with the model's inputs; empty: there is none
};

/// Returns a sentence for people on the packages that the Python lacks for captures; empty if it lacks none.
QString what_is_lacking(const PythonSurvey& survey);

/// Returns the interpreter that a person has named, by its path or by the folder of an environment. If
/// `named` is empty, the program chooses (app/programs/python_package.h).
QString python_in(const QString& named);

/// Asks one Python interpreter at a time, in a child process.
class PythonReader : public QObject {
    Q_OBJECT
  public:
    explicit PythonReader(QObject* parent = nullptr);
    ~PythonReader() override;

    /// Drops the previous question. `python` has the form that `python_in` returns; on another machine the
    /// form that `script_there` takes (remote_python.h).
    void read(const QString& python, const PythonSource& source);
    /// Reads a model's file on another machine. Drops the previous question.
    void read_model(const QString& python, const RemoteFile& model);
    void stop();
    bool running() const { return process_.state() != QProcess::NotRunning; }

  signals:
    void found(const rematlas::explorer::PythonSurvey& survey);
    void failed(const QString& message);  ///< the interpreter cannot be asked; the message names it

  private:
    void start_there(const RemoteHost& host, const QString& python, const QStringList& words);
    void conclude(int exit_code, QProcess::ExitStatus status);

    TiedProcess process_;
    QString python_;                  ///< the interpreter, for messages
    std::optional<RemoteHost> host_;  ///< the machine of the interpreter; none: this one
};

}  // namespace rematlas::explorer
