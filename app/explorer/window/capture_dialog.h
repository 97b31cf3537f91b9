// Asks for what a capture needs: the shapes of the model's inputs and where the graph goes.
#pragma once

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>

#include "app/explorer/session/capture_controller.h"
#include "app/explorer/session/recent_files.h"

namespace rematlas::explorer {

class CaptureDialog : public QDialog {
    Q_OBJECT
  public:
    CaptureDialog(const QString& model, RecentFiles& recent, QWidget* parent = nullptr);
    void accept() override;

  signals:
    void capture_requested(const rematlas::explorer::CaptureRequest& request);

  private:
    QString known_inputs() const;

    QString model_;
    RecentFiles& recent_;
    QPlainTextEdit* inputs_;
    QComboBox *loss_, *device_;
    QLineEdit* output_;
    QLabel* error_;
};

}  // namespace rematlas::explorer
