// Scripts of ours that a Python of another machine runs. Only ssh's command line meets a shell: a script and
// what it is asked come as its input.
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

/// The text of one of the scripts within the program (explorer.qrc).
QByteArray own_script(const QString& name);

struct RemoteScript {
    QStringList words;  ///< behind `ssh`
    QByteArray input;   ///< begins with the script; more may follow
};

/// `python`: an interpreter there, or the folder of an environment, which may begin with ~/. Empty: that of
/// $REMATLAS_PYTHON or $VIRTUAL_ENV there, else the one that the program `rematlas` there belongs to, else
/// `python3`. `words`: what the script is given; one that begins with ~/ is in the home there.
RemoteScript script_there(const RemoteHost& host, const QString& python, const QString& script,
                          const QStringList& words);

}  // namespace rematlas::explorer
