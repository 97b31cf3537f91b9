#include "app/explorer/jobs/python_survey.h"

#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "app/explorer/jobs/remote_python.h"
#include "app/programs/python_package.h"

namespace rematlas::explorer {
namespace {

const char* const survey_script = "python_survey.py";

QStringList strings_in(const QJsonValue& list) {
    QStringList strings;
    for (const QJsonValue& value : list.toArray()) strings << value.toString();
    return strings;
}

PythonSurvey survey_from(const QJsonObject& told) {
    const auto word = [&](const char* key) { return told[QLatin1String(key)].toString(); };
    PythonSurvey survey{.python = word("python"),
                        .version = word("version"),
                        .torch = word("torch"),
                        .rematlas = word("rematlas"),
                        .has_gpu = told["gpu"].toBool(),
                        .gpus = strings_in(told["gpus"]),
                        .file = word("file"),
                        .module = word("module"),
                        .folder = word("folder"),
                        .functions = {},
                        .problem = word("problem"),
                        .graph = word("graph"),
                        .graphs = strings_in(told["graphs"]),
                        .ends = QByteArray::fromBase64(word("ends").toLatin1()),
                        .beside = word("beside").toUtf8()};
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

QString what_is_lacking(const PythonSurvey& survey) {
    QStringList lacks;
    if (survey.torch.isEmpty()) lacks << "torch";
    if (survey.rematlas.isEmpty()) lacks << "rematlas";
    if (lacks.isEmpty()) return {};
    return PythonReader::tr(
               "%1, Python %2, lacks %3: name the Python of the environment that trains, or "
               "install there what is missing (pip install torch; pip install "
               "rematlas-....whl).")
        .arg(survey.python, survey.version, lacks.join(PythonReader::tr(" and ")));
}

PythonReader::PythonReader() {
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
    if (source.host) {
        // The path is absolute, or relative to the home folder of the user on the other machine.
        const QString file = source.file.startsWith('/') ? source.file : "~/" + source.file;
        return start_there(*source.host, python, {file});
    }
    stop();
    python_ = python;
    host_.reset();
    QStringList words{"-c", QString::fromUtf8(own_script(survey_script))};
    if (source.file.isEmpty())
        words << source.module << source.folder;
    else
        words << source.file;
    // Runs in the root folder, so that Python does not import files next to the model's file instead of its
    // own modules.
    process_.setWorkingDirectory(QDir::rootPath());
    process_.start(python, words);
}

void PythonReader::read_model(const QString& python, const RemoteFile& model) {
    const QString file = model.path.startsWith('/') ? model.path : "~/" + model.path;
    start_there(model.host, python, {"--file", file});
}

void PythonReader::start_there(const RemoteHost& host, const QString& python, const QStringList& words) {
    stop();
    python_ = tr("%1 on %2").arg(python.isEmpty() ? "python3" : python, host.name);
    host_ = host;
    const RemoteScript survey = script_there(host, python, survey_script, words);
    process_.setWorkingDirectory({});
    process_.start("ssh", survey.words);
    process_.write(survey.input);
    process_.closeWriteChannel();
}

void PythonReader::conclude(int exit_code, QProcess::ExitStatus status) {
    const QJsonDocument told = QJsonDocument::fromJson(process_.readAllStandardOutput());
    if (status == QProcess::NormalExit && exit_code == 0 && told.isObject())
        return emit found(survey_from(told.object()));
    const QByteArray said = process_.readAllStandardError();
    if (host_)
        if (const QString why = why_not_connected(*host_, exit_code, said); !why.isEmpty())
            return emit failed(why);
    const QStringList lines = QString::fromUtf8(said).split('\n', Qt::SkipEmptyParts);
    emit failed(lines.isEmpty()
                    ? tr("%1 is no Python that can be asked").arg(python_)
                    : tr("%1 is no Python that can be asked: %2").arg(python_, lines.last().left(300)));
}

}  // namespace rematlas::explorer
