#include "app/explorer/window/lines_dialog.h"

#include <QDialogButtonBox>
#include <QFileInfo>
#include <QVBoxLayout>

#include "app/explorer/look/lines_to_copy.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

QString where_to_paste_words(LinesToPaste::Place place) {
    if (place == LinesToPaste::Place::program) return LinesDialog::tr("In the training program:");
    if (place == LinesToPaste::Place::shell) return LinesDialog::tr("In a shell:");
    return LinesDialog::tr("Or in a forward that checkpoints its blocks itself:");
}

}  // namespace

LinesDialog::LinesDialog(const QString& file, const std::vector<LinesToPaste>& lines, bool always,
                         QWidget* parent)
    : QDialog(parent) {
    setWindowTitle(tr("Lines to paste"));
    setMinimumWidth(640);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(20, 18, 20, 18);
    layout->setSpacing(theme::gap);
    layout->addWidget(theme::heading(tr("Saved %1").arg(QFileInfo(file).fileName())));
    for (const LinesToPaste& part : lines)
        add_lines_to_copy(*layout, where_to_paste_words(part.place), text(part.text),
                          "lines_" + text(to_string(part.place)));
    auto* again = new QCheckBox(tr("Show this after each export"));
    again->setObjectName("lines_always");
    again->setChecked(always);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    auto* last_row = new QHBoxLayout;
    last_row->addWidget(again);
    last_row->addWidget(buttons);
    layout->addLayout(last_row);
    connect(again, &QCheckBox::toggled, this, &LinesDialog::always_chosen);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
}

}  // namespace rematlas::explorer
