// Files and programs of another machine, over ssh. Nothing runs there except what the explorer asks for.
//
// A file there is named ssh://[user@]host[:port]/path. A path that begins with /~/ is in the user's home.
// The explorer cannot ask for passwords: a key or an agent must let ssh in.
#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>
#include <optional>
#include <stop_token>

#include "core/base/result.h"

namespace rematlas::explorer {

struct RemoteHost {
    QString name;  ///< "user@host", in the form that ssh takes
    int port = 0;  ///< 0: ssh's default
    bool operator==(const RemoteHost&) const = default;
};

struct RemoteFile {
    RemoteHost host;
    QString path;  ///< absolute, or relative to the home folder
};

bool is_remote(const QString& path);

/// Returns ssh://[user@]host[:port]/path. `remote_file` makes the same file from it.
QString url_of(const RemoteFile& file);

/// Fails if the URL has no host or no path, or characters that no host name has.
Result<RemoteFile> remote_file(const QString& url);

/// Quotes the text so that it is one word for a POSIX shell, whatever characters it has.
QString shell_word(const QString& text);

/// Returns the arguments of `ssh` that run a command of a POSIX shell on the host.
QStringList ssh_words(const RemoteHost& host, const QString& command);

/// Returns a message for people if ssh itself failed: it could not connect, or was not let in. Returns an
/// empty string if the exit status is that of the command.
QString why_not_connected(const RemoteHost& host, int exit, const QByteArray& said);

struct RemoteAnswer {
    int exit = -1;  ///< exit status of the command
    QByteArray out;
    QByteArray err;
};

/// Runs a command of a POSIX shell on the host with `input`, and waits. Ends ssh when `stop` is requested.
/// Must not be called from the GUI's thread. Errors: ssh is not installed, cannot connect or is not let in;
/// `stopped`.
Result<RemoteAnswer> run_there(const RemoteHost& host, const QString& command, const QByteArray& input,
                               const std::stop_token& stop);

/// Returns the path of the file's local copy, which need not exist yet: in the cache, in a folder for the
/// file's host and folder.
QString copy_of(const RemoteFile& file);

/// Writes the local copy. Fails if it cannot be written.
Result<void> keep_copy(const RemoteFile& file, const QByteArray& content);

/// Errors: those of `run_there`, a file that cannot be read there, and a copy that cannot be written here.
Result<QString> fetch(const RemoteFile& file, const std::stop_token& stop);

}  // namespace rematlas::explorer
