// The file dialog of Open. A typed path takes precedence over what the list selects while it is typed.
#pragma once

#include <QFileDialog>

namespace rematlas::explorer {

/// Qt's dialog, or the desktop's if there is one. (There is no Q_OBJECT here: for other classes Qt never uses
/// the desktop's dialog.)
class OpenDialog : public QFileDialog {
  public:
    using QFileDialog::QFileDialog;

    /// Returns the paths of existing files; none if the dialog was cancelled. The dialog is modal. An empty
    /// folder stands for the current one.
    static QStringList ask(QWidget* parent, const QString& title, const QString& folder,
                           const QString& filter);

    void accept() override;
};

}  // namespace rematlas::explorer
