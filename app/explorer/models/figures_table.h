// A read-only table: the rows of a list, or the data that a painted view shows, for users who cannot see
// pictures. Tables can be written to files. Each cell has a text and the value behind the text.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <vector>

#include "app/explorer/loaded/selection.h"

namespace rematlas::explorer {

class FiguresTable : public QAbstractTableModel {
    Q_OBJECT
  public:
    /// Role of a cell's value. The value is a number if the column has numbers (bytes, nanoseconds or a
    /// ratio), else the text.
    static constexpr int value_role = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;

    /// Returns what a click on the row selects in all views; empty if it selects nothing.
    virtual Selected selected_at(int row) const = 0;
    /// Returns the row that shows the selected block or op; -1 if there is none.
    virtual int row_of(const Selected& selected) const = 0;

    bool is_number(int column) const { return columns()[static_cast<std::size_t>(column)].number; }
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  protected:
    struct Column {
        QString title, meaning;
        bool number = false;
        const char* unit = "";  ///< unit of the values: bytes, ns, ratio; empty for counts
    };
    virtual std::vector<Column> columns() const = 0;
    virtual QString text_at(int row, int column) const = 0;
    /// Returns the value of a cell. Called only for columns of numbers. An invalid value makes the cell
    /// empty.
    virtual QVariant value_at(int row, int column) const = 0;

  private:
    mutable int count_ = 0;  ///< number of columns; 0 if it is not yet computed
};

/// Returns rows as tab-separated text for spreadsheets, below a line of titles. `rows`: the rows of the model
/// in the order of the text. Cells are written as values if `exact`, else as the text that is shown.
QString as_text(const QAbstractItemModel& model, const std::vector<int>& rows, bool exact = false);

}  // namespace rematlas::explorer
