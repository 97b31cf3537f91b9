// Asks for the settings of a capture and runs it. The dialog is hidden while the capture runs, and comes back
// with the reason if it fails. The settings depend on the model: file_capture_dialog.h,
// function_capture_dialog.h.
#pragma once

#include <QDialog>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QToolButton>
#include <optional>

#include "app/explorer/files/recent_files.h"
#include "app/explorer/jobs/capture_controller.h"
#include "app/explorer/jobs/remote_host.h"

namespace rematlas::explorer {

class CaptureDialog : public QDialog {
    Q_OBJECT
  public:
    void accept() override;
    /// Shows the dialog again, with the reason of a failure and, folded below it, the traceback through the
    /// user's program.
    void show_failure(const QString& message, const QString& traceback);

  protected:
    CaptureDialog(const QString& title, const QString& about, CaptureController& capture, RecentFiles& recent,
                  QWidget* parent);

    /// Returns why the settings cannot be captured; empty if they can.
    virtual QString problem() const = 0;
    /// Says whether the facts that `problem` needs are still being asked for. A capture that is started
    /// meanwhile waits.
    virtual bool is_asking() const { return false; }
    /// Called when these facts have come. Starts a capture that waits.
    void go_on();
    virtual void start(CaptureController& capture) = 0;
    /// Called when a capture has worked. Stores the settings for the next time, and adds the model to the
    /// recent files.
    virtual void remember() = 0;
    /// Returns the words for people if the capture fails with `message`.
    virtual QString words_for(const QString& message) const { return message; }

    QFormLayout& form() { return *form_; }
    RecentFiles& recent() const { return recent_; }
    /// Adds the last row of the form: the graph file.
    void add_graph_row(const QString& proposed);
    /// Makes the graph file one on the machine of the model. `proposed`: the file's path if none was typed;
    /// `known`: the graph files that exist there.
    void set_host(const RemoteHost& host, const QString& proposed, const QStringList& known);
    /// Says whether an existing graph file may be replaced.
    bool may_replace() const { return !overwrite_.isEmpty() && graph_file() == overwrite_; }
    QLineEdit& graph_field() { return *output_; }
    /// Returns the path that was typed; on another machine as an absolute path, relative paths starting in
    /// the folder of `proposed`.
    QString graph_file() const;
    /// Makes the dialog high enough for its texts, which can need more lines than before.
    void fit_height();
    /// Shows an error; no error if `words` is empty.
    void show_error(const QString& words, const QString& traceback = {});

  private:
    QLayout* make_details();
    QString why_not() const;
    bool is_there(const QString& graph) const;
    void take_result();
    void conclude(bool cancelled);

    CaptureController& capture_;
    RecentFiles& recent_;
    QFormLayout* form_;
    QLineEdit* output_;
    QLabel* error_;
    QToolButton *where_, *browse_;
    QPlainTextEdit* traceback_;
    bool is_waiting_ = false;         ///< a capture starts as soon as `is_asking` is false
    QString overwrite_;               ///< an existing graph file that may be replaced
    std::optional<RemoteHost> host_;  ///< the machine of the graph file; none: this one
    QString folder_there_;            ///< folder for graph files that are typed without one
    QStringList known_there_;
};

}  // namespace rematlas::explorer
