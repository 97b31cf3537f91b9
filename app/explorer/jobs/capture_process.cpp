#include "app/explorer/jobs/capture_process.h"

#include "app/explorer/jobs/tied_process.h"
#include "app/explorer/jobs/waited_process.h"

namespace rematlas::explorer {
namespace {

/// Returns the error message in the output of the program. This is not always the last line, because
/// libraries can print more after the program's own error. If there is no such error, returns the last line.
QByteArray words_of(const QByteArray& said) {
    QByteArray words;
    for (const QByteArray& line : said.split('\n')) {
        const QByteArray trimmed = line.trimmed();
        if (trimmed.isEmpty() || trimmed.startsWith('{')) continue;
        if (trimmed.startsWith("rematlas: ") || !words.startsWith("rematlas: ")) words = trimmed;
    }
    return words.startsWith("rematlas: ") ? words.mid(10) : words;
}

}  // namespace

Result<void> capture_and_wait(const CaptureRequest& request, const std::stop_token& stop) {
    const QString program = CaptureController::find_program();
    if (program.isEmpty()) return Error{"the program rematlas-runtime is not beside the explorer"};
    TiedProcess process;
    process.setStandardOutputFile(QProcess::nullDevice());
    process.start(program, CaptureController::arguments(request));
    if (!process.waitForStarted()) return Error{process.errorString().toStdString()};
    if (!is_over_before(process, stop)) return Error{"stopped"};
    if (process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0) return {};
    const QByteArray words = words_of(process.readAllStandardError());
    if (!words.isEmpty()) return Error{words.left(2000).toStdString()};
    return Error{"the capture ended without a word"};
}

}  // namespace rematlas::explorer
