#include "app/explorer/jobs/capture_controller.h"

#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>

#include "app/programs/runtime_program.h"

namespace rematlas::explorer {
namespace {

constexpr int longest_line = 2000, most_lines = 60;

}  // namespace

QStringList captured_optimizers() {
    return {"sgd", "adam", "adamw"};
}

QString free_graph_file(const QString& model) {
    const QFileInfo file(model);
    const QString name = file.absolutePath() + '/' + file.completeBaseName();
    QString free = name + ".graph.json";
    for (int number = 2; QFileInfo::exists(free); ++number)
        free = QStringLiteral("%1-%2.graph.json").arg(name).arg(number);
    return free;
}

CaptureController::CaptureController(QObject* parent) : QObject(parent) {
    connect(&process_, &QProcess::readyReadStandardError, this, &CaptureController::read_progress);
    connect(&process_, qOverload<int, QProcess::ExitStatus>(&QProcess::finished), this,
            &CaptureController::conclude);
    connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return;
        emit failed(tr("%1 could not be started: %2").arg(process_.program(), process_.errorString()), {});
        emit finished(false);
    });
}

CaptureController::~CaptureController() {
    process_.disconnect(this);
    if (!running()) return;
    process_.kill();
    process_.waitForFinished(2000);
}

QString CaptureController::find_program() {
    return QString::fromStdString(find_runtime_program().string());
}

QStringList CaptureController::arguments(const CaptureRequest& request) {
    QStringList arguments{"capture", request.model};
    for (const QString& input : request.inputs) arguments << "--input" << input;
    if (request.device != "cpu") arguments << "--device" << request.device;
    if (!request.device_profile.isEmpty()) arguments << "--device-profile" << request.device_profile;
    if (request.loss != "output") arguments << "--loss" << request.loss;
    if (request.optimizer != "none") arguments << "--optimizer" << request.optimizer;
    return arguments << "-o" << request.output << "--progress-json";
}

void CaptureController::start(const CaptureRequest& request) {
    cancel();
    const QString program = program_.isEmpty() ? find_program() : program_;
    if (program.isEmpty()) {
        emit failed(tr("Models are captured by the Python package of Rematlas, which is not installed in the "
                       "active environment, and there is no rematlas-runtime beside the explorer. Graphs "
                       "(.graph.json) can be opened without it."),
                    {});
        return;
    }
    process_.setWorkingDirectory({});
    run(program, arguments(request), request.output);
}

void CaptureController::start(const FunctionRequest& request) {
    cancel();
    process_.setWorkingDirectory(request.folder);
    run(request.python, capture_words(request), request.output);
}

void CaptureController::run(const QString& program, const QStringList& words, const QString& output) {
    cancelled_ = false;
    pending_.clear();
    last_words_.clear();
    traceback_.clear();
    progress_ = {};
    clock_.start();
    output_ = output;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("REMATLAS_TRACEBACK", "1");
    process_.setProcessEnvironment(environment);
    process_.setStandardOutputFile(QProcess::nullDevice());
    emit started();
    process_.start(program, words);
}

void CaptureController::cancel() {
    if (!running()) return;
    cancelled_ = true;
    process_.kill();
    process_.waitForFinished(2000);
}

void CaptureController::read_progress() {
    pending_ += process_.readAllStandardError();
    for (int end = pending_.indexOf('\n'); end >= 0; end = pending_.indexOf('\n')) {
        read_line(pending_.left(end));
        pending_.remove(0, end + 1);
    }
}

void CaptureController::read_line(const QByteArray& whole) {
    const QByteArray line = whole.trimmed();
    const bool begins_traceback = line.startsWith("Traceback (most recent call last)");
    if ((begins_traceback || !traceback_.isEmpty()) && !line.startsWith("rematlas: "))
        traceback_ << QString::fromUtf8(whole).left(longest_line);
    if (traceback_.size() > most_lines) traceback_.removeFirst();
    if (line.isEmpty()) return;
    const QJsonObject object = QJsonDocument::fromJson(line).object();
    if (object.contains("stage")) {
        const CaptureProgress::State now =
            progress_.at(object["stage"].toString(), object["fraction"].toDouble(), clock_.elapsed());
        emit progressed(now.words, now.fraction);
    } else if (line.startsWith("rematlas: ") || !last_words_.startsWith("rematlas: ")) {
        last_words_ = QString::fromUtf8(line).left(
            longest_line);  // libraries may say more after the program's own error
    }
}

void CaptureController::conclude(int exit_code, QProcess::ExitStatus status) {
    read_progress();
    read_line(pending_);
    pending_.clear();
    if (!cancelled_) {
        if (status == QProcess::NormalExit && exit_code == 0) {
            emit captured(output_);
        } else if (!last_words_.isEmpty()) {
            emit failed(last_words_, traceback_.join('\n').trimmed());
        } else if (status == QProcess::CrashExit) {
            emit failed(tr("The capture crashed. The explorer and your files are unharmed."), {});
        } else {
            emit failed(tr("The capture ended with status %1 and said nothing.").arg(exit_code), {});
        }
    }
    emit finished(cancelled_);
}

}  // namespace rematlas::explorer
