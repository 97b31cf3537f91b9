// Captures a model in a child process. The process may crash, be slow or be killed without harm to the
// window.
#pragma once

#include <QByteArray>
#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <optional>

#include "app/explorer/jobs/function_capture.h"
#include "app/explorer/jobs/tied_process.h"
#include "app/explorer/words/capture_progress.h"

namespace rematlas::explorer {

struct CaptureRequest {
    QString model;
    QStringList inputs;
    QString output;  ///< NAME.graph.json
    QString device = "cpu";
    QString device_profile;  ///< if the device is "meta": the device to plan for
    QString loss = "output";
    QString optimizer = "none";
    std::optional<RemoteHost> host = {};  ///< the machine of the model and the output; nullopt for this
                                          ///< machine
    QString python = {};                  ///< on `host`: a Python in whose environment the program rematlas
                                          ///< is installed
    bool replace = false;                 ///< whether the output on `host` may replace an existing file
};

/// Returns the optimizers whose updates a capture can record, named as for `--optimizer`.
QStringList captured_optimizers();

/// Returns the path NAME.graph.json next to the model, for example for NAME.pt. Adds a number to NAME if this
/// file exists, or if there is a schedule with this NAME, because that schedule belongs to another graph.
QString free_graph_file(const QString& model);

/// Runs `rematlas-runtime capture MODEL --input SPEC... -o FILE --progress-json`, or for a Python function
/// `python -m rematlas capture FUNCTION ... -o FILE`. The command writes its progress to standard error, as
/// lines with one JSON object {"stage", "fraction"} each. Other lines of standard error are kept: the last
/// line is shown as the error message, and a traceback shows where the error was raised.
///
/// On another machine `remote_capture.py` runs the same commands, and ends when the connection ends. The
/// graph's file is sent back over the connection.
class CaptureController : public QObject {
    Q_OBJECT
  public:
    CaptureController();
    ~CaptureController() override;

    void start(const CaptureRequest& request);
    void start(const FunctionRequest& request);
    void cancel();  ///< ends the child process and its processes on another machine
    bool running() const { return process_.state() != QProcess::NotRunning; }

    /// Sets the program that captures. An empty string selects the program that `find_program()` finds.
    void set_program(const QString& program) { program_ = program; }
    /// Returns the result of `find_runtime_program()` (app/programs).
    static QString find_program();
    static QStringList arguments(const CaptureRequest& request);

  signals:
    void started();
    /// Emitted about once a second, with a message for users. `fraction` never falls. It is negative until it
    /// is known.
    void progressed(const QString& words, double fraction);
    /// Emitted with the path of the graph file. If the capture ran on another machine, the path begins with
    /// ssh:// and a local copy (`copy_of`) exists.
    void captured(const QString& graph_file);
    /// `traceback`: Python's traceback, beginning with the user's own code; empty for other failures.
    void failed(const QString& message, const QString& traceback);
    void finished(bool cancelled);

  private:
    void run(const QString& program, const QStringList& words, const QString& output);
    struct ThereRequest;
    void run_there(const ThereRequest& request);
    void begin();
    void show_progress();
    void read_progress();
    void read_line(const QByteArray& whole);
    void conclude(int exit_code, QProcess::ExitStatus status);
    void end();
    QString why_failed(int exit_code, QProcess::ExitStatus status) const;

    TiedProcess process_;
    QString program_, output_;
    std::optional<RemoteFile> there_;  ///< the graph's file on another machine; nullopt if it is on this
                                       ///< machine
    QByteArray pending_;
    CaptureProgress progress_;
    QElapsedTimer clock_;
    QTimer each_second_;
    QString last_words_;
    QStringList traceback_;  ///< lines of Python's traceback; empty if there is none
    bool cancelled_ = false;
};

}  // namespace rematlas::explorer
