// Files and programs of another machine, over ssh: nothing runs there but what the explorer asks for.
//
// A file there is named ssh://[user@]host[:port]/path. A path that begins with /~/ is in the user's home.
// The explorer cannot ask for passwords: a key or an agent must let ssh in.
#pragma once

#include <QByteArray>
#include <QString>
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

/// Errors: no host, no path, or characters that no host has.
Result<RemoteFile> remote_file(const QString& url);

/// For a POSIX shell: one word, whatever is in it.
QString shell_word(const QString& text);

struct RemoteAnswer {
    int exit = -1;  ///< of the command
    QByteArray out;
    QByteArray err;
};

/// Runs a command of a POSIX shell there with `input`, and waits; ends ssh when `stop` says so. For threads
/// other than the GUI's. Errors: ssh is not there, cannot connect or is not let in, and `stopped`.
Result<RemoteAnswer> run_there(const RemoteHost& host, const QString& command, const QByteArray& input,
                               const std::stop_token& stop);

/// Copies the file into the cache, in a folder for its host and folder there, and returns its path here.
/// Errors: as above, what the machine says of the file, and what cannot be written here.
Result<QString> fetch(const RemoteFile& file, const std::stop_token& stop);

}  // namespace rematlas::explorer
