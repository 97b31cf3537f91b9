// The part of the main window that opens files, and captures models that have no graph yet.
#include <QDir>
#include <QFileInfo>
#include <QInputDialog>

#include "app/explorer/files/chosen_files.h"
#include "app/explorer/files/model_file.h"
#include "app/explorer/files/python_source.h"
#include "app/explorer/files/remote_model.h"
#include "app/explorer/files/sample_graph.h"
#include "app/explorer/followed/followed_window.h"
#include "app/explorer/jobs/remote_host.h"
#include "app/explorer/measured/measured_window.h"
#include "app/explorer/window/file_capture_dialog.h"
#include "app/explorer/window/function_capture_dialog.h"
#include "app/explorer/window/main_window.h"
#include "app/explorer/window/model_help.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

void MainWindow::open(const QStringList& paths) {
    message_bar_->settle(MessageBar::About::opening);
    const ChosenFiles chosen = choose_files(paths);
    if (!chosen.left_out.isEmpty()) show_error(MessageBar::About::opening, chosen.left_out.join('\n'));
    if (!chosen.model.isEmpty()) capture_model(chosen.model);
    for (const QString& path : chosen.measured) show_measurement(path);
    for (const QString& path : chosen.runs) follow_run(path);
    if (!chosen.files.isEmpty()) session_.open(chosen.files);
}

void MainWindow::show_measurement(const QString& path) {
    auto* measured = new MeasuredWindow(session_, this);
    measured->setAttribute(Qt::WA_DeleteOnClose);
    connect(measured, &MeasuredWindow::failed, this, [this, measured](const QString& message) {
        measured->close();
        show_error(MessageBar::About::opening, message);
    });
    connect(measured, &MeasuredWindow::opened, this, [this, path] { recent_.add(path); });
    measured->show();
    measured->open(path);
}

void MainWindow::follow_run(const QString& path) {
    auto* followed = new FollowedWindow(path, this);
    followed->setAttribute(Qt::WA_DeleteOnClose);
    bool has_failed = false;
    const auto failed = connect(followed, &FollowedWindow::failed, this, [&] { has_failed = true; });
    connect(followed, &FollowedWindow::failed, this, [this, followed](const QString& message) {
        followed->close();
        show_error(MessageBar::About::opening, message);
    });
    followed->show();
    followed->start();
    disconnect(failed);
    if (!has_failed) recent_.add(path);
}

/// Tells the user if the file of the open graph was replaced or deleted.
void MainWindow::tell_of_file() {
    const QString path = session_.watch.path(), name = QFileInfo(path).fileName();
    switch (session_.watch.state()) {
        case GraphWatch::State::same:
            return message_bar_->settle(MessageBar::About::graph_file);
        case GraphWatch::State::replaced:
            return show_error(MessageBar::About::graph_file,
                              tr("%1 is another file now, and the window shows the graph of the one before. "
                                 "Its plans are not kept any more: export what you need, then open the file "
                                 "again.")
                                  .arg(name),
                              tr("Open it again"), [this, path] { open({path}); });
        case GraphWatch::State::gone:
            return show_error(MessageBar::About::graph_file,
                              tr("%1 is gone from the disk. Its plans are not kept any more: export what you "
                                 "need, or put the file back.")
                                  .arg(name));
    }
}

void MainWindow::open_sample() {
    // The sample is written next to the settings, so that tests and portable installations have separate
    // samples.
    const QString folder = settings_ ? QFileInfo(settings_->fileName()).absolutePath() : QDir::tempPath();
    const Result<QString> path = sample_graph_in(folder);
    if (!path) return show_error(MessageBar::About::opening, text(path.error().message));
    open({*path});
}

void MainWindow::ask_and_open_remote() {
    bool is_given = false;
    const QString url =
        QInputDialog::getText(this, tr("Open from another machine"),
                              tr("A file as ssh://[user@]host[:port]/path, or a function of one as "
                                 "ssh://host/path/nets.py:step. A key or an agent must let "
                                 "ssh in. Captures and solvers run there."),
                              QLineEdit::Normal, "ssh://", &is_given);
    if (is_given && !url.trimmed().isEmpty()) open({url.trimmed()});
}

void MainWindow::capture_function(const PythonSource& source) {
    if (!source.host && !source.file.isEmpty() && !QFileInfo(source.file).isReadable())
        return show_error(MessageBar::About::opening, tr("%1: cannot be read").arg(source.file));
    (new FunctionCaptureDialog(source, session_.capture, recent_, this))->open();
}

/// Asks the other machine what the file is, and whether the machine has the packages that a capture needs.
void MainWindow::ask_about_model(const RemoteFile& file) {
    show_working(tr("Asking %1 about %2").arg(file.host.name, QFileInfo(file.path).fileName()), -1);
    asked_host_ = file.host;
    looking_.read_model(recent_.python(file.host.name), file);
}

void MainWindow::capture_there(const PythonSurvey& survey) {
    show_quiet_state();
    const Result<RemoteModel> model = remote_model(asked_host_, survey);
    if (!model) return show_error(MessageBar::About::opening, text(model.error().message));
    const ModelFile kind = look_at_model(model->stand_in().toStdString());
    if (!can_be_captured(kind)) return show_help(model->stand_in(), kind);
    if (const QString lacks = what_is_lacking(survey); !lacks.isEmpty())
        return show_error(MessageBar::About::opening, asked_host_.name + ": " + lacks);
    (new FileCaptureDialog(*model, session_.capture, recent_, this))->open();
}

void MainWindow::show_help(const QString& path, const ModelFile& file) {
    auto* help = new ModelHelpDialog(path, file, this);
    help->setAttribute(Qt::WA_DeleteOnClose);
    help->open();
}

void MainWindow::capture_model(const QString& path) {
    if (const std::optional<PythonSource> source = python_source(path)) return capture_function(*source);
    if (is_remote(path)) {
        const Result<RemoteFile> file = remote_file(path);
        if (!file) return show_error(MessageBar::About::opening, text(file.error().message));
        return ask_about_model(*file);
    }
    const ModelFile file = look_at_model(path.toStdString());
    if (file.kind == ModelFile::Kind::unreadable)
        return show_error(MessageBar::About::opening, tr("%1: cannot be read").arg(path));
    if (!can_be_captured(file)) return show_help(path, file);
    if (CaptureController::find_program().isEmpty()) {
        show_error(
            MessageBar::About::opening,
            tr("%1: models are captured by the Python package of Rematlas, which is not installed in the "
               "active environment. Graphs (.graph.json) can be opened without it.")
                .arg(path));
        return;
    }
    (new FileCaptureDialog(path, session_.capture, recent_, this))->open();
}

}  // namespace rematlas::explorer
