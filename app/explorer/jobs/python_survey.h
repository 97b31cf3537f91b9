// What a file of Python offers to a capture, found without running it, and what a Python has for one.
//
//     reader.read(python, {.file = "/models/nets.py"});       // found(survey), or failed(message)
#pragma once

#include <QObject>
#include <QProcess>
#include <QString>
#include <vector>

namespace rematlas::explorer {

/// Where a function that makes a model is looked for: in a file, or in a module as it is named from a folder.
struct PythonSource {
    QString file;  ///< empty: `module`, from `folder`
    QString module, folder;
    QString function = {};  ///< empty: to be chosen
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
    QString file, module, folder;  ///< the module is imported from the folder
    std::vector<PythonFunction> functions;
    QString problem;  ///< with the file; empty: none
};

/// The interpreter that a person has named: its path, or the folder of an environment. Empty: the program's
/// own choice (app/programs/python_package.h).
QString python_in(const QString& named);

/// Asks one Python at a time, in a process of its own.
class PythonReader : public QObject {
    Q_OBJECT
  public:
    explicit PythonReader(QObject* parent = nullptr);
    ~PythonReader() override;

    /// What was asked before is dropped. `python` as `python_in` returns it.
    void read(const QString& python, const PythonSource& source);

  signals:
    void found(const rematlas::explorer::PythonSurvey& survey);
    void failed(const QString& message);  ///< that Python cannot be asked; names it

  private:
    void stop();
    void conclude(int exit_code, QProcess::ExitStatus status);

    QProcess process_;
};

}  // namespace rematlas::explorer
