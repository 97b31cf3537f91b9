#include "app/explorer/window/about.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

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
    auto* body = new QLabel(QDialog::tr(
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

void show_shortcuts(QWidget* parent) {
    QDialog* dialog = nullptr;
    QVBoxLayout* layout = open_box(parent, QDialog::tr("Keyboard shortcuts"), dialog);
    static const struct {
        const char *keys, *what;
    } rows[] = {
        {"Ctrl+O", "Open a model, graph, schedule, sweep or plan"},
        {"Ctrl+S", "Export the schedule"},
        {"Ctrl+F", "Search blocks and operators"},
        {"Ctrl+B", "Edit the budget"},
        {"Ctrl+Enter", "Solve"},
        {"Ctrl+.", "Cancel everything that runs"},
        {"Double click, Enter", "Expand or collapse a block and its twin"},
        {"Ctrl+Right, Ctrl+Left", "One level more, one level less"},
        {"Wheel, + and -", "Zoom"},
        {"Drag", "Pan"},
        {"W", "Fit the width"},
        {"Space, A", "Fit the whole graph"},
        {"F", "Centre the selection"},
        {"Up, Down", "Walk along the edges of the chain"},
        {"Left, Right", "Go to the twin on the other side"},
        {"Page Up, Page Down", "Scroll"},
        {"Esc", "Clear the selection"},
        {"?", "This list"},
    };
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(24);
    grid->setVerticalSpacing(7);
    int line = 0;
    for (const auto& row : rows) {
        auto* keys = new QLabel(QDialog::tr(row.keys));
        QFont font = keys->font();
        font.setWeight(QFont::DemiBold);
        keys->setFont(font);
        grid->addWidget(keys, line, 0);
        grid->addWidget(theme::quiet_label(QDialog::tr(row.what)), line, 1);
        ++line;
    }
    layout->addLayout(grid);
    finish_box(dialog, layout);
}

}  // namespace rematlas::explorer
