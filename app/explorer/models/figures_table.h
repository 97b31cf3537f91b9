// A table of rows that are only read, each column a text and the value behind it: what a painted view shows,
// for people who do not look at pictures, and for files.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <vector>

#include "app/explorer/loaded/selection.h"

namespace rematlas::explorer {

class FiguresTable : public QAbstractTableModel {
    Q_OBJECT
  public:
    /// Of a cell: a number where the column is one, in bytes, nanoseconds or a ratio; else the text.
    static constexpr int value_role = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;

    /// What choosing the row selects in all views; may be nothing.
    virtual Selected selected_at(int row) const = 0;
    /// The row that stands for what is selected; -1: none.
    virtual int row_of(const Selected& selected) const = 0;

    bool is_number(int column) const { return columns()[static_cast<std::size_t>(column)].number; }
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  protected:
    struct Column {
        QString title, meaning;
        bool number = false;
        const char* unit = "";  ///< of the values: bytes, ns, ratio; none of counts
    };
    virtual std::vector<Column> columns() const = 0;
    virtual QString text_at(int row, int column) const = 0;
    /// Asked for the columns of numbers alone. Invalid: the cell is empty.
    virtual QVariant value_at(int row, int column) const = 0;

  private:
    mutable int count_ = 0;  ///< of the columns; 0: nobody has asked yet
};

/// The rows as tab-separated text under a line of titles, as spreadsheets take them: values where `exact`,
/// else what is shown. `rows` of the model, in the order given.
QString as_text(const QAbstractItemModel& model, const std::vector<int>& rows, bool exact = false);

}  // namespace rematlas::explorer
