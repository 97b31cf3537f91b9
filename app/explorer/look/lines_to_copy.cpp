#include "app/explorer/look/lines_to_copy.h"

#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

void add_lines_to_copy(QVBoxLayout& layout, const QString& title, const QString& lines, const QString& name) {
    auto* copy = new QPushButton(QCoreApplication::translate("LinesToCopy", "Copy"));
    copy->setAccessibleName(QCoreApplication::translate("LinesToCopy", "Copy: %1").arg(title));
    auto* bar = new QHBoxLayout;
    bar->addWidget(theme::quiet_label(title, true), 1);
    bar->addWidget(copy);
    auto* shown = new QPlainTextEdit(lines.trimmed());
    shown->setObjectName(name);
    shown->setAccessibleName(title);
    shown->setReadOnly(true);
    shown->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
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

}  // namespace rematlas::explorer
