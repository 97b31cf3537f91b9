// The dialog that captures a model's file: TorchScript, or an exported program.
#pragma once

#include <QComboBox>

#include "app/explorer/files/remote_model.h"
#include "app/explorer/window/capture_dialog.h"

namespace rematlas::explorer {

class FileCaptureDialog : public CaptureDialog {
    Q_OBJECT
  public:
    FileCaptureDialog(const QString& model, CaptureController& capture, RecentFiles& recent,
                      QWidget* parent = nullptr);
    /// Makes the dialog for a model's file on another machine.
    FileCaptureDialog(const RemoteModel& model, CaptureController& capture, RecentFiles& recent,
                      QWidget* parent = nullptr);

  protected:
    QString problem() const override;
    void start(CaptureController& capture) override;
    void remember() override;
    QString words_for(const QString& message) const override;

  private:
    FileCaptureDialog(const QString& model, const QString& looked_at, std::optional<RemoteModel> there,
                      CaptureController& capture, RecentFiles& recent, QWidget* parent);
    void fill_choices();
    QString known_inputs();

    QString model_;                     ///< the path or URL by which the model can be opened again
    QString looked_at_;                 ///< the model's file, or the local file that stands in for a file on
                                        ///< another machine
    std::optional<RemoteModel> there_;  ///< the model if it is on another machine; else nullopt
    bool has_inputs_of_its_own_;        ///< whether the file is an exported program; then inputs may be left
                                        ///< out
    QPlainTextEdit* inputs_;
    QComboBox *loss_, *optimizer_, *device_;
};

}  // namespace rematlas::explorer
