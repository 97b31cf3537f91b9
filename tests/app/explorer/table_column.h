// Finds columns of tables by their titles.
#pragma once

#include <QAbstractItemModel>

namespace rematlas::explorer {

/// Returns the place of the column with this title; -1 if the table has no such column.
inline int column_of(const QAbstractItemModel& table, const QString& title) {
    for (int column = 0; column < table.columnCount(); ++column)
        if (table.headerData(column, Qt::Horizontal).toString() == title) return column;
    return -1;
}

/// Returns the cell in the column with this title. The index is invalid if there is no such cell.
inline QModelIndex cell_of(const QAbstractItemModel& table, int row, const QString& title) {
    return table.index(row, column_of(table, title));
}

}  // namespace rematlas::explorer
