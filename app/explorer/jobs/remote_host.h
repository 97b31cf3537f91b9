// Reads files and runs programs of another machine over ssh.
//
// A file of another machine is named ssh://[user@]host[:port]/path. If the path begins with /~/, the file is
// in the user's home folder. The explorer cannot ask for passwords: ssh must log in by a key or an agent.
#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>
#include <stop_token>

#include "core/base/result.h"

namespace rematlas::explorer {

struct RemoteHost {
    QString name;  ///< "user@host" as ssh takes it
    int port = 0;  ///< 0 for ssh's default
    bool operator==(const RemoteHost&) const = default;
};

struct RemoteFile {
    RemoteHost host;
    QString path;  ///< absolute, or relative to the home folder
};

bool is_remote(const QString& path);

/// Returns ssh://[user@]host[:port]/path, from which `remote_file` makes the same file again.
QString url_of(const RemoteFile& file);

/// Reads the URL of a file. Fails if it has another form than ssh://[user@]host[:port]/path.
Result<RemoteFile> remote_file(const QString& url);

/// Quotes the text so that a POSIX shell reads it as one word, whatever characters it has.
QString shell_word(const QString& text);

/// Returns the arguments with which `ssh` runs a command of a POSIX shell on the host.
QStringList ssh_words(const RemoteHost& host, const QString& command);

/// Returns a message for users if ssh itself has failed, because it could not connect or log in. Returns an
/// empty string if `exit` is the exit status of the command that ssh ran.
QString why_not_connected(const RemoteHost& host, int exit, const QByteArray& said);

struct RemoteAnswer {
    int exit = -1;  ///< exit status of the command
    QByteArray out;
    QByteArray err;
};

/// Runs a command of a POSIX shell on the host with `input` as its standard input, and waits. Ends ssh when
/// `stop` is requested; the error is then "stopped". Also fails if ssh is not installed, cannot connect or
/// log in, or crashes. Must not be called from the GUI's thread.
Result<RemoteAnswer> run_there(const RemoteHost& host, const QString& command, const QByteArray& input,
                               const std::stop_token& stop);

/// Returns the path of the file's local copy, which need not exist yet. Copies are in the cache, in one
/// folder for each folder of a host.
QString copy_of(const RemoteFile& file);

/// Writes the local copy of the file. Fails if it cannot be written.
Result<void> keep_copy(const RemoteFile& file, const QByteArray& content);

/// Copies the file to this machine and returns the path of the copy. Fails as `run_there` does, or if the
/// file cannot be read there or the copy cannot be written here.
Result<QString> fetch(const RemoteFile& file, const std::stop_token& stop);

}  // namespace rematlas::explorer
