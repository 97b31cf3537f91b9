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

/// While a path is typed, Qt selects the folders on the way to it that its list knows. One that stays
/// selected is what Qt then opens in the place of the file, and it clears the path.
void OpenDialog::accept() {
    const auto* typed = findChild<QLineEdit*>("fileNameEdit");  // none where the desktop's dialog is shown
    auto* list = findChild<QListView*>("listView");
    if (typed && list && (QDir::isAbsolutePath(typed->text()) || typed->text().startsWith('~')))
        list->selectionModel()->clearSelection();
    QFileDialog::accept();
}

}  // namespace rematlas::explorer
