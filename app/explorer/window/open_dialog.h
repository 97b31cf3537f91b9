// The file dialog of Open. It opens a typed path, even if Qt selected another entry of the list during
// typing.
#pragma once

#include <QFileDialog>

namespace rematlas::explorer {

/// Qt's file dialog, or the desktop's if there is one. The class has no Q_OBJECT, because Qt never uses the
/// desktop's dialog for classes that have it.
class OpenDialog : public QFileDialog {
  public:
    using QFileDialog::QFileDialog;

    /// Asks the user, and returns the paths of existing files. Returns no paths if the user cancels. The
    /// dialog is modal. If `folder` is empty, the dialog begins in the current folder.
    static QStringList ask(QWidget* parent, const QString& title, const QString& folder,
                           const QString& filter);

    void accept() override;
};

}  // namespace rematlas::explorer
