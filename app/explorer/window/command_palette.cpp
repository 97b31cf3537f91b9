#include "app/explorer/window/command_palette.h"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "app/explorer/look/theme.h"
#include "app/explorer/words/fuzzy.h"

namespace rematlas::explorer {
namespace {

constexpr int most_rows = 60;
constexpr int command_role = Qt::UserRole, place_role = Qt::UserRole + 1;

/// Draws the `place` of a command at the right edge of the command's row, in the colour of less important
/// text.
class CommandDelegate : public QStyledItemDelegate {
  public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const QString place = index.data(place_role).toString();
        const int width = std::min(option.rect.width() / 2, option.fontMetrics.horizontalAdvance(place) + 4);
        QStyledItemDelegate::paint(painter, option, index);
        painter->setFont(option.font);
        painter->setPen(theme::muted);
        painter->drawText(option.rect.adjusted(option.rect.width() - width - 10, 0, -10, 0),
                          Qt::AlignRight | Qt::AlignVCenter,
                          option.fontMetrics.elidedText(place, Qt::ElideMiddle, width));
    }
};

}  // namespace

CommandPalette::CommandPalette(std::vector<Command> commands, QWidget* parent)
    : QDialog(parent, Qt::Popup),
      commands_(std::move(commands)),
      field_(new QLineEdit),
      list_(new QListWidget) {
    setAttribute(Qt::WA_DeleteOnClose);
    setObjectName("command_palette");
    setWindowTitle(tr("Commands"));
    setAccessibleName(tr("Commands"));
    field_->setObjectName("command_field");
    field_->setPlaceholderText(tr("Type what to do, a block or a plan"));
    field_->setAccessibleName(tr("Search commands, blocks and plans"));
    field_->addAction(theme::icon("search"), QLineEdit::LeadingPosition);
    field_->installEventFilter(this);
    list_->setObjectName("command_list");
    list_->setAccessibleName(tr("What was found"));
    list_->setFrameShape(QFrame::NoFrame);
    list_->setItemDelegate(new CommandDelegate(list_));
    list_->setFocusPolicy(Qt::NoFocus);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(theme::gap, theme::gap, theme::gap, theme::gap);
    layout->addWidget(field_);
    layout->addWidget(list_);
    connect(field_, &QLineEdit::textChanged, this, &CommandPalette::show_matches);
    connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run_current);
    if (parent) {
        const int width = std::min(640, parent->width() - 40);
        resize(width, std::min(420, parent->height() - 120));
        move(parent->mapToGlobal(QPoint((parent->width() - width) / 2, 60)));
    }
    show_matches({});
    field_->setFocus();
}

void CommandPalette::show_matches(const QString& typed) {
    std::vector<std::pair<int, int>> found;  // pairs of score and command
    for (int i = 0; i < static_cast<int>(commands_.size()); ++i) {
        const int score =
            typed.trimmed().isEmpty() ? 1 : fuzzy_score(typed, commands_[static_cast<std::size_t>(i)].name);
        if (score > 0) found.emplace_back(score, i);
    }
    // Among commands with equal scores, the command with the shortest name comes first.
    std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
        const auto key = [&](const auto& of) {
            const int length =
                typed.trimmed().isEmpty() ? 0 : commands_[static_cast<std::size_t>(of.second)].name.size();
            return std::pair(-of.first, length);
        };
        return key(a) < key(b);
    });
    if (found.size() > most_rows) found.resize(most_rows);
    list_->clear();
    for (const auto& [score, i] : found) {
        const Command& command = commands_[static_cast<std::size_t>(i)];
        auto* item = new QListWidgetItem(command.name, list_);
        item->setData(command_role, i);
        item->setData(place_role, command.place);
        item->setData(Qt::AccessibleTextRole, command.name + ", " + command.place);
    }
    list_->setCurrentRow(0);
}

void CommandPalette::run_current() {
    const QListWidgetItem* item = list_->currentItem();
    if (!item) return;
    const auto run = commands_[static_cast<std::size_t>(item->data(command_role).toInt())].run;
    close();
    // Runs the command after this window has closed. Otherwise a window that the command opens would be below
    // this window.
    QMetaObject::invokeMethod(qApp, run, Qt::QueuedConnection);
}

bool CommandPalette::eventFilter(QObject* object, QEvent* event) {
    if (object != field_ || event->type() != QEvent::KeyPress) return QDialog::eventFilter(object, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    switch (key->key()) {
        case Qt::Key_Down:
        case Qt::Key_Up:
        case Qt::Key_PageDown:
        case Qt::Key_PageUp:
            QCoreApplication::sendEvent(list_, event);
            return true;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            run_current();
            return true;
        default:
            return false;
    }
}

}  // namespace rematlas::explorer
