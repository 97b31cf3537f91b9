#include "app/explorer/window/model_help.h"

#include <QDialogButtonBox>
#include <QFileInfo>
#include <QLabel>
#include <QVBoxLayout>

#include "app/explorer/look/lines_to_copy.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {
ModelHelpDialog::ModelHelpDialog(const QString& model, const ModelFile& file, QWidget* parent)
    : QDialog(parent) {
    setWindowTitle(tr("Capture a model"));
    setMinimumWidth(640);
    const ModelHelp help = help_with(file, model.toStdString());
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(20, 18, 20, 18);
    layout->setSpacing(theme::gap);
    layout->addWidget(theme::heading(QFileInfo(model).fileName()));
    QLabel* what = theme::plain_label(help.what);
    what->setObjectName("what");
    what->setWordWrap(true);
    what->setTextInteractionFlags(Qt::TextSelectableByMouse);
    layout->addWidget(what);
    if (!help.script_lines.isEmpty())
        add_lines_to_copy(*layout, tr("Make a TorchScript file in Python, and open that:"), help.script_lines,
                          "script_lines");
    if (!help.function_lines.isEmpty()) {
        add_lines_to_copy(
            *layout,
            help.script_lines.isEmpty()
                ? tr("The function:")
                : tr("Or, for a model that cannot be scripted, write a function in capture_me.py:"),
            help.function_lines, "function_lines");
        add_lines_to_copy(*layout,
                          tr("and open capture_me.py, or record its training step and open the graph:"),
                          help.command, "command");
    }
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
}

}  // namespace rematlas::explorer
