#include "app/explorer/window/about.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QLabel>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer {
namespace {

QVBoxLayout* open_box(QWidget* parent, const QString& title, QDialog*& dialog) {
    dialog = new QDialog(parent);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(title);
    auto* layout = new QVBoxLayout(dialog);
    layout->setContentsMargins(24, 20, 24, 18);
    layout->setSpacing(12);
    return layout;
}

void finish_box(QDialog* dialog, QVBoxLayout* layout) {
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
    layout->addWidget(buttons);
    dialog->open();
}

}  // namespace

void show_about(QWidget* parent) {
    QDialog* dialog = nullptr;
    QVBoxLayout* layout = open_box(parent, QDialog::tr("About Rematlas Explorer"), dialog);
    auto* logo = new QLabel;
    logo->setPixmap(theme::icon("rematlas").pixmap(56, 56));
    layout->addWidget(logo);
    layout->addWidget(theme::heading(QDialog::tr("Rematlas Explorer %1").arg(REMATLAS_VERSION)));
    QLabel* body = theme::plain_label(QDialog::tr(
        "Plans the memory of neural-network training: which tensors to keep, which to compute again and "
        "which to move to the host, "
        "so that one training step stays within a budget and gives the same gradients.\n\n"
        "The sources of Rematlas are under the Apache License 2.0. Qt is used under the LGPL. "
        "Graphviz runs in a program of its own.\n\nThere is no warranty, to the extent permitted by law."));
    body->setWordWrap(true);
    body->setMinimumWidth(440);
    layout->addWidget(body);
    finish_box(dialog, layout);
}

void show_shortcuts(QWidget* parent, const std::vector<ShortcutGroup>& groups) {
    QDialog* dialog = nullptr;
    QVBoxLayout* layout = open_box(parent, QDialog::tr("Keyboard shortcuts"), dialog);
    dialog->setObjectName("shortcuts");
    auto* list = new QTreeWidget;
    list->setObjectName("shortcut_list");
    list->setAccessibleName(QDialog::tr("Keyboard shortcuts"));
    list->setHeaderLabels({QDialog::tr("What"), QDialog::tr("Keys")});
    list->setRootIsDecorated(false);
    list->setSelectionMode(QAbstractItemView::NoSelection);
    for (const ShortcutGroup& group : groups) {
        auto* top = new QTreeWidgetItem(list, {group.title, QString()});
        QFont bold = list->font();
        bold.setWeight(QFont::DemiBold);
        top->setFont(0, bold);
        for (const auto& [keys, what] : group.rows) new QTreeWidgetItem(top, {what, keys});
    }
    list->expandAll();
    list->setColumnWidth(0, 330);
    dialog->resize(620, std::min(680, parent->height() - 40));
    layout->addWidget(list);
    finish_box(dialog, layout);
}

}  // namespace rematlas::explorer
