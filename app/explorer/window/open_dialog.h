// The file dialog of Open, in which a path that is typed counts more than what the list has selected on the
// way to it.
#pragma once

#include <QFileDialog>

namespace rematlas::explorer {

/// Qt's own, or the desktop's where it has one (no Q_OBJECT here: Qt keeps to its own for other classes).
class OpenDialog : public QFileDialog {
  public:
    using QFileDialog::QFileDialog;

    /// Existing files by their paths; none: it was cancelled. Modal. An empty folder is the current one.
    static QStringList ask(QWidget* parent, const QString& title, const QString& folder,
                           const QString& filter);

    void accept() override;
};

}  // namespace rematlas::explorer
