// Asks for what a capture needs: the shapes of the model's inputs and where the graph goes.
#pragma once

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>

#include "app/explorer/files/recent_files.h"
#include "app/explorer/jobs/capture_controller.h"

namespace rematlas::explorer {

class CaptureDialog : public QDialog {
    Q_OBJECT
  public:
    CaptureDialog(const QString& model, RecentFiles& recent, QWidget* parent = nullptr);
    void accept() override;  ///< hides it: whoever captures shows it again or deletes it
    /// Shows it again, with the reason and what to do about it.
    void show_failure(const QString& message);
    void remember();  ///< what was typed, for the next time: it worked

  signals:
    void capture_requested(const rematlas::explorer::CaptureRequest& request);

  private:
    void fill_choices();
    QString known_inputs() const;

    QString model_;
    bool has_inputs_of_its_own_;  ///< an exported program: inputs may be left out
    QString overwrite_;           ///< an existing graph file that may be replaced
    RecentFiles& recent_;
    QPlainTextEdit* inputs_;
    QComboBox *loss_, *optimizer_, *device_;
    QLineEdit* output_;
    QLabel* error_;
};

}  // namespace rematlas::explorer
