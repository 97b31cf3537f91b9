#include "app/explorer/jobs/python_survey.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "app/programs/python_package.h"

namespace rematlas::explorer {
namespace {

QString script_of_survey() {
    QFile script(":/python/python_survey.py");
    return script.open(QIODevice::ReadOnly) ? QString::fromUtf8(script.readAll()) : QString();
}

PythonSurvey survey_from(const QJsonObject& told) {
    const auto word = [&](const char* key) { return told[QLatin1String(key)].toString(); };
    PythonSurvey survey{.python = word("python"),
                        .version = word("version"),
                        .torch = word("torch"),
                        .rematlas = word("rematlas"),
                        .has_gpu = told["gpu"].toBool(),
                        .file = word("file"),
                        .module = word("module"),
                        .folder = word("folder"),
                        .functions = {},
                        .problem = word("problem")};
    for (const QJsonValue& value : told["functions"].toArray()) {
        const QJsonObject one = value.toObject();
        survey.functions.push_back({.name = one["name"].toString(),
                                    .about = one["about"].toString(),
                                    .keywords = one["keywords"].toString(),
                                    .likely = one["likely"].toBool()});
    }
    return survey;
}

}  // namespace

QString python_in(const QString& named) {
    if (named.isEmpty()) return QString::fromStdString(python_interpreter().string());
    if (!QFileInfo(named).isDir()) return named;
    for (const char* inside : {"bin/python3", "bin/python"})
        if (const QString python = QDir(named).filePath(inside); QFileInfo(python).isExecutable())
            return python;
    return QDir(named).filePath("bin/python3");
}

PythonReader::PythonReader(QObject* parent) : QObject(parent) {
    connect(&process_, qOverload<int, QProcess::ExitStatus>(&QProcess::finished), this,
            &PythonReader::conclude);
    connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return;
        emit failed(tr("%1 cannot be started: %2").arg(process_.program(), process_.errorString()));
    });
}

PythonReader::~PythonReader() {
    stop();
}

void PythonReader::stop() {
    const QSignalBlocker quiet(process_);
    if (process_.state() == QProcess::NotRunning) return;
    process_.kill();
    process_.waitForFinished(2000);
}

void PythonReader::read(const QString& python, const PythonSource& source) {
    stop();
    QStringList words{"-c", script_of_survey()};
    if (source.file.isEmpty())
        words << source.module << source.folder;
    else
        words << source.file;
    // What lies beside the file is not imported in the place of Python's own modules.
    process_.setWorkingDirectory(QDir::rootPath());
    process_.start(python, words);
}

void PythonReader::conclude(int exit_code, QProcess::ExitStatus status) {
    const QJsonDocument told = QJsonDocument::fromJson(process_.readAllStandardOutput());
    if (status == QProcess::NormalExit && exit_code == 0 && told.isObject())
        return emit found(survey_from(told.object()));
    const QStringList said =
        QString::fromUtf8(process_.readAllStandardError()).split('\n', Qt::SkipEmptyParts);
    emit failed(
        said.isEmpty()
            ? tr("%1 is no Python that can be asked").arg(process_.program())
            : tr("%1 is no Python that can be asked: %2").arg(process_.program(), said.last().left(300)));
}

}  // namespace rematlas::explorer
