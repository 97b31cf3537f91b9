#include "app/explorer/jobs/capture_controller.h"

#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "app/explorer/jobs/remote_python.h"
#include "app/explorer/words/wording.h"
#include "app/programs/runtime_program.h"

namespace rematlas::explorer {
namespace {

constexpr int longest_line = 2000, most_lines = 60;
constexpr int first_of_signals = 128;    ///< exit statuses above this mean that a signal has ended the
                                         ///< process
constexpr int time_to_end_there = 2000;  ///< milliseconds in which ssh must end before it is killed

}  // namespace

/// A request to `remote_capture.py`.
struct CaptureController::ThereRequest {
    RemoteHost host;
    QString python;  ///< the interpreter, in the form that `script_there` takes
    bool is_module;  ///< true: `words` go to `python -m`; false: to the program rematlas
    QStringList words;
    QString folder, output;
    bool replace;
};

QStringList captured_optimizers() {
    return {"sgd", "adam", "adamw"};
}

QString free_graph_file(const QString& model) {
    const QFileInfo file(model);
    const QString name = file.absolutePath() + '/' + file.completeBaseName();
    const auto is_taken = [](const QString& stem) {
        return QFileInfo::exists(stem + ".graph.json") || QFileInfo::exists(stem + ".schedule.json");
    };
    QString free = name;
    for (int number = 2; is_taken(free); ++number) free = QStringLiteral("%1-%2").arg(name).arg(number);
    return free + ".graph.json";
}

CaptureController::CaptureController() {
    connect(&process_, &QProcess::readyReadStandardError, this, &CaptureController::read_progress);
    connect(&process_, qOverload<int, QProcess::ExitStatus>(&QProcess::finished), this,
            &CaptureController::conclude);
    connect(&each_second_, &QTimer::timeout, this, &CaptureController::show_progress);
    each_second_.setInterval(1000);
    connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return;
        each_second_.stop();
        emit failed(tr("%1 could not be started: %2").arg(process_.program(), process_.errorString()), {});
        emit finished(false);
    });
}

CaptureController::~CaptureController() {
    process_.disconnect(this);
    if (running()) end();
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
    if (request.host)
        return run_there({.host = *request.host,
                          .python = request.python,
                          .is_module = false,
                          .words = arguments(request),
                          .folder = "/",
                          .output = request.output,
                          .replace = request.replace});
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
    if (request.host)
        return run_there({.host = *request.host,
                          .python = request.python,
                          .is_module = true,
                          .words = capture_words(request).mid(1),
                          .folder = request.folder,
                          .output = request.output,
                          .replace = request.replace});
    process_.setWorkingDirectory(request.folder);
    run(request.python, capture_words(request), request.output);
}

void CaptureController::run(const QString& program, const QStringList& words, const QString& output) {
    output_ = output;
    there_.reset();
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("REMATLAS_TRACEBACK", "1");
    process_.setProcessEnvironment(environment);
    process_.setStandardOutputFile(QProcess::nullDevice());
    begin();
    process_.start(program, words);
}

void CaptureController::run_there(const ThereRequest& request) {
    there_ = RemoteFile{request.host, request.output};
    output_ = url_of(*there_);
    const QJsonObject asked{{"module", request.is_module},
                            {"words", QJsonArray::fromStringList(request.words)},
                            {"folder", request.folder},
                            {"output", request.output},
                            {"replace", request.replace}};
    const RemoteScript script = script_there(request.host, request.python, "remote_capture.py", {});
    process_.setWorkingDirectory({});
    process_.setProcessEnvironment(QProcessEnvironment::systemEnvironment());
    process_.setStandardOutputFile({});
    begin();
    process_.start("ssh", script.words);
    // The standard input stays open, because the remote capture ends when its input ends.
    process_.write(script.input + QJsonDocument(asked).toJson(QJsonDocument::Compact) + '\n');
}

void CaptureController::begin() {
    cancelled_ = false;
    pending_.clear();
    last_words_.clear();
    traceback_.clear();
    progress_ = {};
    clock_.start();
    each_second_.start();
    emit started();
}

void CaptureController::cancel() {
    if (!running()) return;
    cancelled_ = true;
    end();
}

void CaptureController::end() {
    if (there_) {
        process_.closeWriteChannel();
        process_.waitForFinished(time_to_end_there);
    }
    if (!running()) return;
    process_.kill();
    process_.waitForFinished(2000);
}

void CaptureController::show_progress() {
    const CaptureProgress::State now = progress_.now(clock_.elapsed());
    emit progressed(now.words, now.fraction);
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
            progress_.at(object["stage"].toString(), object["fraction"].toDouble(-1), clock_.elapsed());
        emit progressed(now.words, now.fraction);
    } else if (line.startsWith("rematlas: ") || !last_words_.startsWith("rematlas: ")) {
        last_words_ = QString::fromUtf8(line).left(
            longest_line);  // only the program's own error counts; libraries can print more after it
    }
}

void CaptureController::conclude(int exit_code, QProcess::ExitStatus status) {
    each_second_.stop();
    const QByteArray graph = there_ ? process_.readAllStandardOutput() : QByteArray();
    read_progress();
    read_line(pending_);
    pending_.clear();
    if (!cancelled_) {
        QString why = why_failed(exit_code, status);
        if (why.isEmpty() && there_)
            if (const Result<void> kept = keep_copy(*there_, graph); !kept) why = text(kept.error().message);
        if (why.isEmpty())
            emit captured(output_);
        else
            emit failed(why, traceback_.join('\n').trimmed());
    }
    emit finished(cancelled_);
}

/// Returns why the capture failed, or an empty string if it did not.
QString CaptureController::why_failed(int exit_code, QProcess::ExitStatus status) const {
    if (status == QProcess::NormalExit && exit_code == 0) return {};
    if (there_ && status == QProcess::NormalExit) {
        const QString why = why_not_connected(there_->host, exit_code, last_words_.toUtf8());
        if (!why.isEmpty()) return why;
    }
    if (!last_words_.isEmpty()) return last_words_;
    if (status == QProcess::CrashExit || (there_ && exit_code > first_of_signals))
        return tr("The capture crashed. The explorer and your files are unharmed.");
    return tr("The capture ended with status %1 and said nothing.").arg(exit_code);
}

}  // namespace rematlas::explorer
