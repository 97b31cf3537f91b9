#include "app/explorer/jobs/remote_host.h"

#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QTemporaryDir>

#include "app/explorer/jobs/tied_process.h"
#include "app/explorer/jobs/waited_process.h"
#include "core/base/files.h"

namespace rematlas::explorer {
namespace {

constexpr int no_connection = 255;  ///< exit status of ssh if ssh itself has failed
constexpr int most_words = 500;     ///< messages of a remote machine are cut to this many characters

QString last_line(const QByteArray& said) {
    const QStringList lines = QString::fromUtf8(said).split('\n', Qt::SkipEmptyParts);
    return lines.isEmpty() ? QString() : lines.last().trimmed().left(most_words);
}

/// Returns the folder for the local copy of the file. If there is no cache, this is a temporary folder that
/// only this user can read, and that is removed when the explorer ends.
QString folder_of_copies(const RemoteFile& file) {
    static const QTemporaryDir until_the_end;
    const std::filesystem::path cache = cache_folder();
    const QString base = cache.empty() ? until_the_end.path() : QString::fromStdString(cache.string());
    const std::string key = file.host.name.toStdString() + ":" + std::to_string(file.host.port) + ":" +
                            QFileInfo(file.path).path().toStdString();
    return QDir(base).filePath("remote/" + QString::fromStdString(sha256(key)).left(16));
}

}  // namespace

bool is_remote(const QString& path) {
    return path.startsWith("ssh://");
}

QString url_of(const RemoteFile& file) {
    const QString port = file.host.port > 0 ? QStringLiteral(":%1").arg(file.host.port) : QString();
    const QString path = file.path.startsWith('/') ? file.path : "/~/" + file.path;
    return "ssh://" + file.host.name + port + path;
}

Result<RemoteFile> remote_file(const QString& url) {
    // A host must not begin with a dash, because ssh would take it for an option.
    static const QRegularExpression form(
        R"(^ssh://((?:[A-Za-z0-9_.][A-Za-z0-9_.-]*@)?[A-Za-z0-9_.][A-Za-z0-9_.-]*)(?::(\d{1,5}))?/(.+)$)");
    const QRegularExpressionMatch match = form.match(url);
    if (!match.hasMatch() || match.captured(2).toInt() > 65535)
        return Error{url.toStdString() + ": is not of the form ssh://[user@]host[:port]/path"};
    QString path = "/" + match.captured(3);
    if (path.startsWith("/~/")) path = path.mid(3);
    if (path.contains('\n') || path.contains(QChar(0)))
        return Error{url.toStdString() + ": a path has no line breaks"};
    return RemoteFile{{match.captured(1), match.captured(2).toInt()}, path};
}

QString shell_word(const QString& text) {
    QString inside = text;
    return "'" + inside.replace("'", "'\\''") + "'";
}

QStringList ssh_words(const RemoteHost& host, const QString& command) {
    QStringList words{"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20"};
    if (host.port > 0) words << "-p" << QString::number(host.port);
    return words << "--" << host.name << command;
}

QString why_not_connected(const RemoteHost& host, int exit, const QByteArray& said) {
    if (exit != no_connection) return {};
    return host.name + ": " + last_line(said) + " (the explorer cannot ask for a password: ssh " + host.name +
           " must get in by a key or an agent)";
}

Result<RemoteAnswer> run_there(const RemoteHost& host, const QString& command, const QByteArray& input,
                               const std::stop_token& stop) {
    TiedProcess ssh;
    ssh.start("ssh", ssh_words(host, command));
    if (!ssh.waitForStarted()) return Error{"ssh cannot be started; install it (openssh-client)"};
    ssh.write(input);
    ssh.closeWriteChannel();
    if (!is_over_before(ssh, stop)) return Error{"stopped"};
    RemoteAnswer answer{ssh.exitCode(), ssh.readAllStandardOutput(), ssh.readAllStandardError()};
    const std::string name = host.name.toStdString();
    if (ssh.exitStatus() != QProcess::NormalExit) return Error{name + ": ssh ended unexpectedly"};
    if (const QString why = why_not_connected(host, answer.exit, answer.err); !why.isEmpty())
        return Error{why.toStdString()};
    return answer;
}

QString copy_of(const RemoteFile& file) {
    return QDir(folder_of_copies(file)).filePath(QFileInfo(file.path).fileName());
}

Result<void> keep_copy(const RemoteFile& file, const QByteArray& content) {
    const QString folder = folder_of_copies(file);
    if (!QDir().mkpath(folder)) return Error{folder.toStdString() + ": this folder cannot be made"};
    return write_file(copy_of(file).toStdString(), content.toStdString());
}

Result<QString> fetch(const RemoteFile& file, const std::stop_token& stop) {
    const Result<RemoteAnswer> answer = run_there(file.host, "cat -- " + shell_word(file.path), {}, stop);
    if (!answer) return answer.error();
    if (answer->exit != 0)
        return Error{file.host.name.toStdString() + ": " + last_line(answer->err).toStdString()};
    if (const Result<void> kept = keep_copy(file, answer->out); !kept) return kept.error();
    return copy_of(file);
}

}  // namespace rematlas::explorer
