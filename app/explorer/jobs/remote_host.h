// Files and programs of another machine, over ssh: nothing runs there but what the explorer asks for.
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
    QString name;  ///< "user@host", as ssh takes it
    int port = 0;  ///< 0: the usual one
    bool operator==(const RemoteHost&) const = default;
};

struct RemoteFile {
    RemoteHost host;
    QString path;  ///< absolute, or in the home without a slash in front
};

bool is_remote(const QString& path);

/// ssh://[user@]host[:port]/path, of which `remote_file` makes the same file again.
QString url_of(const RemoteFile& file);

/// Errors: no host, no path, or characters that no host has.
Result<RemoteFile> remote_file(const QString& url);

/// For a POSIX shell: one word, whatever is in it.
QString shell_word(const QString& text);

/// The words behind `ssh`, for a command of a POSIX shell there.
QStringList ssh_words(const RemoteHost& host, const QString& command);

/// What to tell where ssh ended with a status of its own: it could not connect, or was not let in. Empty: the
/// status is the command's.
QString why_not_connected(const RemoteHost& host, int exit, const QByteArray& said);

struct RemoteAnswer {
    int exit = -1;  ///< of the command
    QByteArray out;
    QByteArray err;
};

/// Runs a command of a POSIX shell there with `input`, and waits; ends ssh when `stop` says so. For threads
/// other than the GUI's. Errors: ssh is not there, cannot connect or is not let in, and `stopped`.
Result<RemoteAnswer> run_there(const RemoteHost& host, const QString& command, const QByteArray& input,
                               const std::stop_token& stop);

/// Where the file's copy is here, or will be: in the cache, in a folder for its host and folder there.
QString copy_of(const RemoteFile& file);

/// Writes the copy. Errors: what cannot be written here.
Result<void> keep_copy(const RemoteFile& file, const QByteArray& content);

/// Copies the file to `copy_of`, and returns that path.
/// Errors: as above, what the machine says of the file, and what cannot be written here.
Result<QString> fetch(const RemoteFile& file, const std::stop_token& stop);

}  // namespace rematlas::explorer
