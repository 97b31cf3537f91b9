#include "app/explorer/window/model_help.h"

#include <QApplication>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QFileInfo>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer {
namespace {

/// Lines in a fixed font under a title, with a button that copies them.
void add_lines(QVBoxLayout& layout, const QString& title, const QString& lines, const char* name) {
    auto* copy = new QPushButton(ModelHelpDialog::tr("Copy"));
    copy->setAccessibleName(ModelHelpDialog::tr("Copy: %1").arg(title));
    auto* bar = new QHBoxLayout;
    bar->addWidget(theme::quiet_label(title, true), 1);
    bar->addWidget(copy);
    auto* shown = new QPlainTextEdit(lines.trimmed());
    shown->setObjectName(name);
    shown->setAccessibleName(title);
    shown->setReadOnly(true);
    shown->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    shown->setLineWrapMode(QPlainTextEdit::NoWrap);
    shown->setTabChangesFocus(true);
    const int line_count = static_cast<int>(lines.trimmed().count('\n')) + 1;
    shown->setFixedHeight(line_count * shown->fontMetrics().lineSpacing() + 28);
    layout.addLayout(bar);
    layout.addWidget(shown);
    QObject::connect(copy, &QPushButton::clicked, shown,
                     [shown] { QApplication::clipboard()->setText(shown->toPlainText()); });
}

}  // namespace

ModelHelpDialog::ModelHelpDialog(const QString& model, const ModelFile& file, QWidget* parent)
    : QDialog(parent) {
    setWindowTitle(tr("Capture a model"));
    setMinimumWidth(640);
    const ModelHelp help = help_with(file, model.toStdString());
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(20, 18, 20, 18);
    layout->setSpacing(theme::gap);
    layout->addWidget(theme::heading(QFileInfo(model).fileName()));
    auto* what = new QLabel(help.what);
    what->setObjectName("what");
    what->setWordWrap(true);
    what->setTextInteractionFlags(Qt::TextSelectableByMouse);
    layout->addWidget(what);
    if (!help.script_lines.isEmpty())
        add_lines(*layout, tr("Make a TorchScript file in Python, and open that:"), help.script_lines,
                  "script_lines");
    if (!help.function_lines.isEmpty()) {
        add_lines(*layout,
                  help.script_lines.isEmpty()
                      ? tr("The function:")
                      : tr("Or, for a model that cannot be scripted, write a function in capture_me.py:"),
                  help.function_lines, "function_lines");
        add_lines(*layout, tr("and record its training step, then open the graph:"), help.command, "command");
    }
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
}

}  // namespace rematlas::explorer
