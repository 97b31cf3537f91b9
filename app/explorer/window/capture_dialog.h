// Asks for the settings of a capture and runs it. The dialog is hidden while the capture runs. If the capture
// fails, the dialog appears again and shows why. The settings depend on the kind of model:
// file_capture_dialog.h, function_capture_dialog.h.
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
    /// Shows the dialog again after a failure, with the reason of the failure. A folded part of the dialog
    /// has the traceback through the user's program.
    void show_failure(const QString& message, const QString& traceback);

  protected:
    CaptureDialog(const QString& title, const QString& about, CaptureController& capture, RecentFiles& recent,
                  QWidget* parent);

    /// Returns why a capture with these settings is not possible; empty if it is possible.
    virtual QString problem() const = 0;
    /// Says whether the dialog is still asking for facts that `problem` needs. A capture that is started
    /// meanwhile waits for them.
    virtual bool is_asking() const { return false; }
    /// Must be called when the facts that `problem` needs have come. Starts a capture that waits for them.
    void go_on();
    virtual void start(CaptureController& capture) = 0;
    /// Called when a capture has succeeded. Must store the settings for the next time, and add the model to
    /// the recent files.
    virtual void remember() = 0;
    /// Returns the words that users see if the capture fails with `message`.
    virtual QString words_for(const QString& message) const { return message; }

    QFormLayout& form() { return *form_; }
    RecentFiles& recent() const { return recent_; }
    /// Adds the last row of the form, which names the graph file. `proposed`: the path that is shown at
    /// first.
    void add_graph_row(const QString& proposed);
    /// Says that the graph file will be on the machine of the model. `proposed`: the path that is used if
    /// none was typed. `known`: the graph files that exist there.
    void set_host(const RemoteHost& host, const QString& proposed, const QStringList& known);
    /// Says whether the user has agreed that the graph file replaces an existing file.
    bool may_replace() const { return !overwrite_.isEmpty() && graph_file() == overwrite_; }
    QLineEdit& graph_field() { return *output_; }
    /// Returns the path that was typed. For another machine the path is made absolute: a relative path starts
    /// in the folder of `proposed` (see `set_host`).
    QString graph_file() const;
    /// Makes the dialog higher if its texts need more lines than before.
    void fit_height();
    /// Shows an error with a folded traceback. Removes the error if `words` is empty.
    void show_error(const QString& words, const QString& traceback = {});

  private:
    QLayout* make_details();
    QString why_not() const;
    bool is_there(const QString& graph) const;

    CaptureController& capture_;
    RecentFiles& recent_;
    QFormLayout* form_;
    QLineEdit* output_;
    QLabel* error_;
    QToolButton *where_, *browse_;
    QPlainTextEdit* traceback_;
    bool is_waiting_ = false;         ///< whether a capture starts as soon as `is_asking` is false
    QString overwrite_;               ///< an existing graph file that may be replaced: the user has agreed
    std::optional<RemoteHost> host_;  ///< the machine of the graph file; nullopt for this machine
    QString folder_there_;            ///< on another machine: the folder in which relative paths start
    QStringList known_there_;
};

}  // namespace rematlas::explorer
