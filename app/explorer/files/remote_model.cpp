#include "app/explorer/files/remote_model.h"

#include <QFileInfo>

#include "core/base/files.h"

namespace rematlas::explorer {

QString RemoteModel::stand_in() const {
    return folder->filePath(QFileInfo(file.path).fileName());
}

Result<RemoteModel> remote_model(const RemoteHost& host, const PythonSurvey& survey) {
    RemoteModel model{{host, survey.file}, survey, std::make_shared<QTemporaryDir>()};
    if (!survey.problem.isEmpty())
        return Error{url_of(model.file).toStdString() + ": " + survey.problem.toStdString()};
    if (!model.folder->isValid()) return Error{model.folder->errorString().toStdString()};
    const std::string path = model.stand_in().toStdString();
    if (const Result<void> written = write_file(path, survey.ends.toStdString()); !written)
        return written.error();
    if (survey.beside.isEmpty()) return model;
    if (const Result<void> written = write_file(path + ".json", survey.beside.toStdString()); !written)
        return written.error();
    return model;
}

}  // namespace rematlas::explorer
