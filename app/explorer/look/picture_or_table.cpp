#include "app/explorer/look/picture_or_table.h"

#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QFocusEvent>
#include <QHeaderView>
#include <algorithm>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer {
namespace {

constexpr int corner = 20;  ///< size of the button, in pixels

/// Returns the row's non-empty cells as text: "Step 12, What run, Name mm #3".
QString described(const FiguresTable& figures, int row) {
    if (row < 0) return {};
    QStringList parts;
    for (int column = 0; column < figures.columnCount(); ++column) {
        const QString cell = figures.index(row, column).data().toString();
        if (!cell.isEmpty())
            parts << figures.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString() + ' ' + cell;
    }
    return parts.join(QStringLiteral(", "));
}

}  // namespace

PictureOrTable::PictureOrTable(QWidget* picture, QWidget* painted, FiguresTable* table, const QString& name)
    : picture_(picture),
      painted_(painted),
      figures_(table),
      sorted_(new QSortFilterProxyModel(this)),
      button_(new QToolButton(this)),
      frame_(new QFrame(this)) {
    picture_->setParent(this);
    figures_->setParent(this);
    painted_->setAccessibleName(name);
    painted_->setAccessibleDescription(tr("Nothing is selected"));
    button_->setObjectName("as_table");
    button_->setCheckable(true);
    button_->setIcon(theme::icon("table"));
    button_->setIconSize(QSize(14, 14));
    button_->setToolTip(tr("Show it as a table, or as a picture"));
    button_->setAccessibleName(tr("%1 as a table").arg(name));
    make_list(name);
    frame_->setObjectName("focus_frame");
    frame_->setAttribute(Qt::WA_TransparentForMouseEvents);
    frame_->hide();
    painted_->installEventFilter(this);
    if (picture_ != painted_) picture_->installEventFilter(this);
    connect(button_, &QToolButton::toggled, this, &PictureOrTable::show_table);
    show_table(false);
}

void PictureOrTable::make_list(const QString& name) {
    sorted_->setSourceModel(figures_);
    sorted_->setSortRole(FiguresTable::value_role);
    list_ = theme::sortable_list(*sorted_, {});
    list_->setParent(this);
    list_->setAccessibleName(tr("%1 as a table").arg(name));
    list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    for (int column = 0; column < figures_->columnCount(); ++column)
        list_->setColumnWidth(column, figures_->is_number(column) ? 84 : 132);
    auto* copy_rows = new QAction(theme::icon("copy"), tr("&Copy the rows"), this);
    copy_rows->setShortcut(QKeySequence::Copy);
    copy_rows->setShortcutContext(Qt::WidgetShortcut);
    list_->addAction(copy_rows);
    list_->setContextMenuPolicy(Qt::ActionsContextMenu);
    connect(copy_rows, &QAction::triggered, this, &PictureOrTable::copy);
    connect(list_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& index) {
                if (!following_ && index.isValid()) emit chosen(source_row(index));
            });
    connect(list_, &QTreeView::activated, this,
            [this](const QModelIndex& index) { emit activated(source_row(index)); });
}

int PictureOrTable::source_row(const QModelIndex& index) const {
    return sorted_->mapToSource(index).row();
}

void PictureOrTable::show_table(bool table) {
    const bool had_focus = isAncestorOf(QApplication::focusWidget()) && !button_->hasFocus();
    button_->setChecked(table);
    picture_->setVisible(!table);
    list_->setVisible(table);
    setFocusProxy(table ? static_cast<QWidget*>(list_) : painted_);
    place();
    if (had_focus) take_focus();
}

void PictureOrTable::take_focus() {
    (shows_table() ? list_ : painted_)->setFocus(Qt::ShortcutFocusReason);
}

void PictureOrTable::copy() const {
    std::vector<int> rows;
    for (const QModelIndex& index : list_->selectionModel()->selectedRows()) rows.push_back(index.row());
    std::sort(rows.begin(), rows.end());
    for (int row = 0; rows.empty() && row < sorted_->rowCount(); ++row) rows.push_back(row);
    QApplication::clipboard()->setText(as_text(*sorted_, rows));
}

void PictureOrTable::follow(int row) {
    following_ = true;
    const QModelIndex index = row < 0 ? QModelIndex() : sorted_->mapFromSource(figures_->index(row, 0));
    if (list_->currentIndex().row() != index.row()) list_->setCurrentIndex(index);
    if (index.isValid()) list_->scrollTo(index);
    following_ = false;
    const QString description = described(*figures_, row);
    painted_->setAccessibleDescription(description.isEmpty() ? tr("Nothing is selected") : description);
    QAccessibleEvent event(painted_, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&event);
}

void PictureOrTable::place() {
    const int below = shows_table() ? corner + 4 : 0;
    frame_->hide();
    picture_->setGeometry(rect());
    list_->setGeometry(rect().adjusted(0, 0, 0, -below));
    button_->setFixedSize(corner, corner);
    button_->move(width() - corner - 3, height() - corner - 2);
    button_->raise();
}

/// Shows a frame around the picture when the picture gets the focus by the keyboard.
bool PictureOrTable::eventFilter(QObject* object, QEvent* event) {
    // A LayoutRequest means that the picture's size hint has changed. This widget has no layout that would
    // tell the dock, so it must tell the dock itself.
    if (object == picture_ && event->type() == QEvent::LayoutRequest) updateGeometry();
    if (object != painted_) return QWidget::eventFilter(object, event);
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) {
        const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
        const bool by_keys = reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason ||
                             reason == Qt::ShortcutFocusReason;
        frame_->setGeometry(QRect(painted_->mapTo(this, QPoint()), painted_->size()));
        frame_->setVisible(event->type() == QEvent::FocusIn && by_keys);
        frame_->raise();
    }
    return QWidget::eventFilter(object, event);
}

void PictureOrTable::resizeEvent(QResizeEvent*) {
    place();
}

}  // namespace rematlas::explorer
