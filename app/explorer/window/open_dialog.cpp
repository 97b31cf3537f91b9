#include "app/explorer/window/open_dialog.h"

#include <QLineEdit>
#include <QListView>

namespace rematlas::explorer {

QStringList OpenDialog::ask(QWidget* parent, const QString& title, const QString& folder,
                            const QString& filter) {
    OpenDialog dialog(parent, title, folder, filter);
    dialog.setFileMode(QFileDialog::ExistingFiles);
    return dialog.exec() == QDialog::Accepted ? dialog.selectedFiles() : QStringList();
}

/// Accepts a typed path. While a path is typed, Qt selects folders of the path in its list. If a folder
/// stayed selected, Qt would open the folder instead of the file, and clear the path. So the selection is
/// cleared first.
void OpenDialog::accept() {
    const auto* typed = findChild<QLineEdit*>("fileNameEdit");  // null if the desktop's dialog is shown
    auto* list = findChild<QListView*>("listView");
    if (typed && list && (QDir::isAbsolutePath(typed->text()) || typed->text().startsWith('~')))
        list->selectionModel()->clearSelection();
    QFileDialog::accept();
}

}  // namespace rematlas::explorer
