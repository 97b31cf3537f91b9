// Finds out, on this or another machine, which functions of a Python file can be captured, and whether a
// Python interpreter has the packages that captures need. The file is not run.
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

/// Says where a function that makes a model is: in a file, or in a module that is imported from a folder.
struct PythonSource {
    QString file;  ///< if empty, `module` is imported from `folder`
    QString module, folder;
    QString function = {};                ///< empty if the user has not chosen a function yet
    std::optional<RemoteHost> host = {};  ///< the machine of the file; nullopt for this machine
    bool operator==(const PythonSource&) const = default;
};

/// A function that can be called without arguments.
struct PythonFunction {
    QString name;
    QString about;     ///< the first line of its documentation
    QString keywords;  ///< keyword arguments with their defaults: batch=8, length=128
    bool likely;       ///< whether the function returns as many values as a capture takes
};

struct PythonSurvey {
    QString python, version;  ///< path and version of the interpreter that was asked
    QString torch, rematlas;  ///< versions of these packages; empty if not installed
    bool has_gpu = false;
    QStringList gpus = {};  ///< names of the GPUs, if the driver gives them
    /// The file, the name of its module, and the folder from which the module can be imported
    QString file, module, folder;
    std::vector<PythonFunction> functions;
    QString problem;          ///< why the file cannot be used; empty if it can be used
    QString graph = {};       ///< a proposed graph file, which does not exist yet
    QStringList graphs = {};  ///< graph files that exist in the folder of `graph`
    // The next two members are set only for a model's file:
    QByteArray ends = {};    ///< the first and the last mebibyte, or all of a shorter file
    QByteArray beside = {};  ///< the text of the file with the model's inputs; empty if there is none
};

/// Says in a sentence which packages the Python lacks for captures; empty if it lacks none.
QString what_is_lacking(const PythonSurvey& survey);

/// Returns the interpreter that the user has named by its path or by the folder of its environment. If
/// `named` is empty, the program chooses an interpreter (app/programs/python_package.h).
QString python_in(const QString& named);

/// Asks a Python interpreter about a model's file or about a function that makes a model. Asks in a child
/// process, and only one interpreter at a time.
class PythonReader : public QObject {
    Q_OBJECT
  public:
    PythonReader();
    ~PythonReader() override;

    /// Asks about a function or a module. Drops the previous question. `python` has the form that `python_in`
    /// returns; for another machine it has the form that `script_there` takes (remote_python.h).
    void read(const QString& python, const PythonSource& source);
    /// Asks about a model's file on another machine. Drops the previous question.
    void read_model(const QString& python, const RemoteFile& model);
    void stop();
    bool running() const { return process_.state() != QProcess::NotRunning; }

  signals:
    void found(const rematlas::explorer::PythonSurvey& survey);
    void failed(const QString& message);  ///< the interpreter cannot be asked; `message` names it

  private:
    void start_there(const RemoteHost& host, const QString& python, const QStringList& words);
    void conclude(int exit_code, QProcess::ExitStatus status);

    TiedProcess process_;
    QString python_;                  ///< the interpreter that is asked, for messages
    std::optional<RemoteHost> host_;  ///< the machine of the interpreter; nullopt for this machine
};

}  // namespace rematlas::explorer
