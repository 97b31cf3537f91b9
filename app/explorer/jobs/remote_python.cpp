#include "app/explorer/jobs/remote_python.h"

#include <QFile>

namespace rematlas::explorer {
namespace {

/// Quotes the text as one word for a shell. A leading ~/ becomes the path of the home folder.
QString word_in_home(const QString& text) {
    return text.startsWith("~/") ? "\"$HOME\"/" + shell_word(text.mid(2)) : shell_word(text);
}

/// Returns shell commands that set the variable p to the path of the interpreter.
QString choice_of_python(const QString& named) {
    if (!named.isEmpty())
        return "p=" + word_in_home(named) + "; if [ -d \"$p\" ]; then p=\"$p/bin/python3\"; fi; ";
    return "p=$REMATLAS_PYTHON; "
           "if [ -z \"$p\" ] && [ -n \"$VIRTUAL_ENV\" ]; then p=\"$VIRTUAL_ENV/bin/python3\"; fi; "
           "if [ -z \"$p\" ] && r=$(command -v rematlas); then read -r l <\"$r\" 2>/dev/null; "
           "case \"$l\" in \"#!\"/*python*) p=${l#??};; esac; fi; "
           "if [ -z \"$p\" ] || ! [ -x \"$p\" ]; then p=${REMATLAS_PYTHON:-python3}; fi; ";
}

}  // namespace

QByteArray own_script(const QString& name) {
    QFile script(":/python/" + name);
    return script.open(QIODevice::ReadOnly) ? script.readAll() : QByteArray();
}

RemoteScript script_there(const RemoteHost& host, const QString& python, const QString& script,
                          const QStringList& words) {
    const QByteArray text = own_script(script);
    QString command = choice_of_python(python) + "case \"$p\" in /*) ;; */*) p=\"$PWD/$p\";; esac; ";
    // Runs in the root folder, so that Python does not import files of the home folder instead of its own
    // modules.
    command += QStringLiteral("cd / && exec \"$p\" -c 'import sys; exec(sys.stdin.buffer.read(%1))'")
                   .arg(text.size());
    for (const QString& word : words) command += ' ' + word_in_home(word);
    // Starts sh explicitly, because the user's login shell on that machine need not be a POSIX shell.
    return {ssh_words(host, "exec sh -c " + shell_word(command)), text};
}

}  // namespace rematlas::explorer
