// Capture of a model in a child process, which may crash, be slow or be killed without harm to the window.
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
    QString device_profile;  ///< with the device "meta": what to plan for
    QString loss = "output";
    QString optimizer = "none";
    std::optional<RemoteHost> host = {};  ///< where the model and the output are, if not here
    QString python = {};                  ///< there, of the environment that has the program rematlas
    bool replace = false;                 ///< an output that is there already, on another machine
};

/// Optimizers whose updates a capture can record, by the names that `--optimizer` takes.
QStringList captured_optimizers();

/// `model`.graph.json beside the model, or with a number where such a file is there: schedules and sweeps
/// belong to the graph that lies there.
QString free_graph_file(const QString& model);

/// Runs `rematlas-runtime capture MODEL --input SPEC... -o FILE --progress-json`, whose standard error holds
/// a JSON object {"stage", "fraction"} a line, or `python -m rematlas capture FUNCTION ... -o FILE`. Other
/// lines of standard error are kept: the last one says what went wrong, and tracebacks say where.
///
/// On another machine `remote_capture.py` runs the same commands, and ends with the connection. The graph's
/// file comes back over the connection.
class CaptureController : public QObject {
    Q_OBJECT
  public:
    explicit CaptureController(QObject* parent = nullptr);
    ~CaptureController() override;

    void start(const CaptureRequest& request);
    void start(const FunctionRequest& request);
    void cancel();  ///< ends the child, and on another machine what it started there
    bool running() const { return process_.state() != QProcess::NotRunning; }

    /// Empty: `find_program()`.
    void set_program(const QString& program) { program_ = program; }
    /// `find_runtime_program()` (app/programs).
    static QString find_program();
    static QStringList arguments(const CaptureRequest& request);

  signals:
    void started();
    /// For people, about once a second. `fraction` never falls; below 0: it is not known.
    void progressed(const QString& words, double fraction);
    /// ssh://... where it was captured there; its copy (`copy_of`) is here then.
    void captured(const QString& graph_file);
    /// `traceback`: of Python, from the user's own frames on; empty for other failures.
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
    std::optional<RemoteFile> there_;  ///< where the graph is, if not here
    QByteArray pending_;
    CaptureProgress progress_;
    QElapsedTimer clock_;
    QTimer each_second_;
    QString last_words_;
    QStringList traceback_;  ///< its lines; empty where there is none
    bool cancelled_ = false;
};

}  // namespace rematlas::explorer
