// What a file of Python offers to a capture, found without running it, and what a Python has for one, here or
// on another machine.
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

/// Where a function that makes a model is looked for: in a file, or in a module as it is named from a folder.
struct PythonSource {
    QString file;  ///< empty: `module`, from `folder`
    QString module, folder;
    QString function = {};                ///< empty: to be chosen
    std::optional<RemoteHost> host = {};  ///< where the file is, if not here
    bool operator==(const PythonSource&) const = default;
};

/// A function that can be called without arguments.
struct PythonFunction {
    QString name;
    QString about;     ///< the first line of its documentation
    QString keywords;  ///< with their defaults: batch=8, length=128
    bool likely;       ///< it returns as many values as a capture takes
};

struct PythonSurvey {
    QString python, version;  ///< the interpreter that was asked
    QString torch, rematlas;  ///< versions; empty: not there
    bool has_gpu = false;
    QStringList gpus = {};         ///< their models, as far as the driver tells
    QString file, module, folder;  ///< the module is imported from the folder
    std::vector<PythonFunction> functions;
    QString problem;          ///< with the file; empty: none
    QString graph = {};       ///< a graph file that is not there yet
    QStringList graphs = {};  ///< that are there, in the folder of `graph`
    // Of a model's file:
    QByteArray ends = {};    ///< a mebibyte at either end, or all of it
    QByteArray beside = {};  ///< the file with its inputs; empty: there is none
};

/// Of what a Python lacks for captures: a sentence for people; empty: nothing.
QString what_is_lacking(const PythonSurvey& survey);

/// The interpreter that a person has named: its path, or the folder of an environment. Empty: the program's
/// own choice (app/programs/python_package.h).
QString python_in(const QString& named);

/// Asks one Python at a time, in a process of its own.
class PythonReader : public QObject {
    Q_OBJECT
  public:
    explicit PythonReader(QObject* parent = nullptr);
    ~PythonReader() override;

    /// What was asked before is dropped. `python` as `python_in` returns it; on another machine as
    /// `script_there` takes it (remote_python.h).
    void read(const QString& python, const PythonSource& source);
    /// Reads a model's file on another machine. What was asked before is dropped.
    void read_model(const QString& python, const RemoteFile& model);
    void stop();
    bool running() const { return process_.state() != QProcess::NotRunning; }

  signals:
    void found(const rematlas::explorer::PythonSurvey& survey);
    void failed(const QString& message);  ///< that Python cannot be asked; names it

  private:
    void start_there(const RemoteHost& host, const QString& python, const QStringList& words);
    void conclude(int exit_code, QProcess::ExitStatus status);

    TiedProcess process_;
    QString python_;                  ///< that is asked
    std::optional<RemoteHost> host_;  ///< of that Python; none: here
};

}  // namespace rematlas::explorer
