// Asks for what a capture needs, and sees it through: hidden while the capture runs, back with the reason
// when it fails. What is asked depends on the model: file_capture_dialog.h, function_capture_dialog.h.
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
    /// Shows it again, with the reason, and folded below it where in the user's program that was.
    void show_failure(const QString& message, const QString& traceback);

  protected:
    CaptureDialog(const QString& title, const QString& about, CaptureController& capture, RecentFiles& recent,
                  QWidget* parent);

    /// Why nothing can be captured as it stands; empty: it can.
    virtual QString problem() const = 0;
    /// Whether it is not known yet whether there is a problem. A capture that is asked for then waits.
    virtual bool is_asking() const { return false; }
    /// It is known now: a capture that waits goes on.
    void go_on();
    virtual void start(CaptureController& capture) = 0;
    /// It worked: what was typed is there the next time, and the model among the recent files.
    virtual void remember() = 0;
    /// What a person is told where the capture says `message`.
    virtual QString words_for(const QString& message) const { return message; }

    QFormLayout& form() { return *form_; }
    RecentFiles& recent() const { return recent_; }
    /// The last row of all forms: where the graph goes.
    void add_graph_row(const QString& proposed);
    /// The graph goes to the machine of the model: `proposed`, beside the graph files `known`.
    void set_host(const RemoteHost& host, const QString& proposed, const QStringList& known);
    /// Whether an existing graph file may be replaced.
    bool may_replace() const { return !overwrite_.isEmpty() && graph_file() == overwrite_; }
    QLineEdit& graph_field() { return *output_; }
    /// As it is typed; on another machine made absolute from the folder of the graphs there.
    QString graph_file() const;
    /// As high as all that it says needs: words that came meanwhile go over several lines.
    void fit_height();
    /// Empty: there is none.
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
    bool is_waiting_ = false;         ///< for what is being asked, to start then
    QString overwrite_;               ///< an existing graph file that may be replaced
    std::optional<RemoteHost> host_;  ///< where the graph goes, if not here
    QString folder_there_;            ///< of graph files that are typed without one
    QStringList known_there_;
};

}  // namespace rematlas::explorer
