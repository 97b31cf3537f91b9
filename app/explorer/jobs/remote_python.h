// Runs our own scripts with a Python interpreter of another machine. A shell there reads only the command
// line. The script and its request are sent to the interpreter's standard input.
//
//     const RemoteScript survey = script_there(host, python, "python_survey.py", {"/models/nets.py"});
//     process.start("ssh", survey.words);
//     process.write(survey.input);
#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>

#include "app/explorer/jobs/remote_host.h"

namespace rematlas::explorer {

/// Returns the text of a script that is built into the program (explorer.qrc).
QByteArray own_script(const QString& name);

struct RemoteScript {
    QStringList words;  ///< the arguments of `ssh`
    QByteArray input;   ///< begins with the script; the caller may write more after it
};

/// `python`: an interpreter on the host, or the folder of its environment; may begin with ~/. If `python` is
/// empty, the first of these is used: the Python of the host's $REMATLAS_PYTHON or $VIRTUAL_ENV, the Python
/// that the program `rematlas` of the host uses, `python3`. `words`: the arguments of the script; a leading
/// ~/ means the home folder on the host.
RemoteScript script_there(const RemoteHost& host, const QString& python, const QString& script,
                          const QStringList& words);

}  // namespace rematlas::explorer
