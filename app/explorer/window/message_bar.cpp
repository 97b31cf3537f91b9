#include "app/explorer/window/message_bar.h"

#include <QAccessible>
#include <QDialog>
#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QPlainTextEdit>
#include <QVBoxLayout>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer {
namespace {

constexpr std::size_t most_kept = 200;

}  // namespace

MessageBar::MessageBar()
    : words_(theme::plain_label()),
      remedy_(new QPushButton),
      earlier_(new QToolButton),
      dismiss_(new QToolButton) {
    setObjectName("message_bar");
    setAttribute(Qt::WA_StyledBackground);
    words_->setObjectName("message");
    words_->setWordWrap(true);
    words_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    words_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::MinimumExpanding);
    words_->setAccessibleName(tr("Message"));
    remedy_->setObjectName("message_remedy");
    remedy_->setAccessibleName(tr("Remedy"));
    earlier_->setText(tr("Earlier"));
    earlier_->setToolTip(tr("Messages of this window, the last first"));
    dismiss_->setObjectName("dismiss_message");
    dismiss_->setIcon(theme::icon("cancel"));
    dismiss_->setToolTip(tr("Dismiss"));
    dismiss_->setAccessibleName(tr("Dismiss the message"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(theme::margin, theme::gap / 2, theme::gap, theme::gap / 2);
    row->addWidget(words_, 1);
    row->addWidget(remedy_);
    row->addWidget(earlier_);
    row->addWidget(dismiss_);
    connect(remedy_, &QPushButton::clicked, this, [this] {
        const std::function<void()> act = act_;
        dismiss();
        if (act) act();
    });
    connect(earlier_, &QToolButton::clicked, this, &MessageBar::show_history);
    connect(dismiss_, &QToolButton::clicked, this, &MessageBar::dismiss);
    hide();
}

void MessageBar::show_message(About about, const QString& message, const QString& remedy,
                              std::function<void()> act) {
    about_ = about;
    history_.push_back({QDateTime::currentDateTime(), message});
    if (history_.size() > most_kept) history_.erase(history_.begin());
    act_ = std::move(act);
    words_->setText(message);
    remedy_->setText(remedy);
    remedy_->setVisible(!remedy.isEmpty());
    earlier_->setVisible(history_.size() > 1);
    show();
    QAccessibleEvent alert(words_, QAccessible::Alert);
    QAccessible::updateAccessibility(&alert);
}

void MessageBar::settle(About about) {
    if (about == about_) dismiss();
}

void MessageBar::dismiss() {
    act_ = {};
    hide();
}

void MessageBar::show_history() {
    auto* dialog = new QDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Messages"));
    auto* text = new QPlainTextEdit;
    text->setReadOnly(true);
    text->setAccessibleName(tr("Messages"));
    QStringList lines;
    for (auto told = history_.rbegin(); told != history_.rend(); ++told)
        lines << told->when.toString(QStringLiteral("HH:mm:ss")) + "  " + told->message;
    text->setPlainText(lines.isEmpty() ? tr("There were none.") : lines.join('\n'));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
    auto* layout = new QVBoxLayout(dialog);
    layout->addWidget(text);
    layout->addWidget(buttons);
    dialog->resize(620, 320);
    dialog->open();
}

}  // namespace rematlas::explorer
