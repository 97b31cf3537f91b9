// A painted view and a table of the same data. A button in the corner switches between the two.
//
// Screen readers describe the picture by the table's row that shows the selection.
#pragma once

#include <QAction>
#include <QFrame>
#include <QSortFilterProxyModel>
#include <QToolButton>
#include <QTreeView>
#include <QWidget>

#include "app/explorer/models/figures_table.h"

namespace rematlas::explorer {

class PictureOrTable : public QWidget {
    Q_OBJECT
  public:
    /// Takes ownership of the picture and the table. `painted`: the widget in `picture`, or `picture` itself,
    /// that takes the focus and has the accessible name `name`. The accessible names of the table and the
    /// button are derived from `name`.
    PictureOrTable(QWidget* picture, QWidget* painted, FiguresTable* table, const QString& name);

    bool shows_table() const { return button_->isChecked(); }
    void show_table(bool table);
    QWidget& picture() { return *picture_; }
    QTreeView& table() { return *list_; }
    FiguresTable& figures() { return *figures_; }
    /// Copies the selected rows to the clipboard as text; all rows if none is selected.
    void copy() const;
    /// Marks the row without emitting `chosen`; -1 marks none.
    void follow(int row);
    QSize sizeHint() const override { return picture_->sizeHint(); }
    QSize minimumSizeHint() const override { return picture_->minimumSizeHint(); }
    /// Gives the focus to the picture or the table, whichever is shown.
    void take_focus();

  signals:
    void chosen(int row);     ///< emitted when a row of the model became the current one
    void activated(int row);  ///< emitted when a row was activated by Enter or a double click

  protected:
    bool eventFilter(QObject* object, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void make_list(const QString& name);
    void place();
    int source_row(const QModelIndex& index) const;

    QWidget *picture_, *painted_;
    FiguresTable* figures_;
    QSortFilterProxyModel* sorted_;
    QTreeView* list_ = nullptr;
    QToolButton* button_;
    QFrame* frame_;  ///< shown around the picture when the keyboard has moved the focus to it
    bool following_ = false;
};

}  // namespace rematlas::explorer
