// A painted view and the same as a table, one of which is seen: a button in the corner changes over.
//
// The row of what is selected describes the picture to screen readers.
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
    /// Takes the picture and the table. `painted` is the widget of the picture that has the focus, is named and
    /// described. Both widgets and the table are called after `name`.
    PictureOrTable(QWidget* picture, QWidget* painted, FiguresTable* table, const QString& name);

    bool shows_table() const { return button_->isChecked(); }
    void show_table(bool table);
    QWidget& picture() { return *picture_; }
    QTreeView& table() { return *list_; }
    FiguresTable& figures() { return *figures_; }
    /// The rows that are selected, as text on the clipboard; all rows where none is.
    void copy() const;
    /// Marks the row, without telling that it was chosen; -1 marks none.
    void follow(int row);
    QSize sizeHint() const override { return picture_->sizeHint(); }
    QSize minimumSizeHint() const override { return picture_->minimumSizeHint(); }
    /// To the picture or the table.
    void take_focus();

  signals:
    void chosen(int row);     ///< of the model: it became the current one
    void activated(int row);  ///< by Enter or a double click

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
    QFrame* frame_;  ///< around the picture while it has the focus
    bool following_ = false;
};

}  // namespace rematlas::explorer
