#include "app/explorer/files/sample_graph.h"

#include <QDir>
#include <QFile>

#include "core/base/files.h"

namespace rematlas::explorer {

Result<QString> sample_graph_in(const QString& folder) {
    const QString path = QDir(folder).filePath("samples/gpt.graph.json");
    if (QFile::exists(path)) return path;
    QFile sample(":/samples/gpt.graph.json");
    if (!sample.open(QIODevice::ReadOnly)) return Error{"the sample did not come with the program"};
    if (!QDir(folder).mkpath("samples")) return Error{folder.toStdString() + ": cannot be made"};
    if (const Result<void> written = write_file(path.toStdString(), sample.readAll().toStdString()); !written)
        return written.error();
    return path;
}

}  // namespace rematlas::explorer
