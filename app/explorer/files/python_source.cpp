#include "app/explorer/files/python_source.h"

#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>

#include "app/programs/python_package.h"

namespace rematlas::explorer {

std::optional<PythonSource> python_source(const QString& word) {
    static const QRegularExpression form("^(.+\\.py)(?::([A-Za-z_]\\w*))?$");
    const QRegularExpressionMatch match = form.match(word);
    if (match.hasMatch() && is_remote(word)) {
        const Result<RemoteFile> file = remote_file(match.captured(1));
        if (!file) return std::nullopt;
        return PythonSource{.file = file->path,
                            .module = {},
                            .folder = {},
                            .function = match.captured(2),
                            .host = file->host};
    }
    if (match.hasMatch())
        return PythonSource{.file = QFileInfo(match.captured(1)).absoluteFilePath(),
                            .module = {},
                            .folder = {},
                            .function = match.captured(2)};
    if (QFileInfo::exists(word) || !names_python_function(word.toStdString())) return std::nullopt;
    return PythonSource{.file = {},
                        .module = word.section(':', 0, 0),
                        .folder = QDir::currentPath(),
                        .function = word.section(':', 1)};
}

QString reopened_by(const std::optional<RemoteHost>& host, const QString& file, const QString& function) {
    return (host ? url_of({*host, file}) : file) + ':' + function;
}

}  // namespace rematlas::explorer
