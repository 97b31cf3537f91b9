// Writes any table of the explorer as comma-separated lines (RFC 4180).
//
//     write_file(path, csv_table(*view->model()));
//
// A column of numbers has a unit. The column's header returns the unit for `unit_role`, and is written as
// "Peak (bytes)". The cells of such a column are written as the exact numbers by which the column is sorted,
// not as the rounded text in the window. In a tree each row begins with its level, and parents come before
// their children.
#pragma once

#include <QAbstractItemModel>
#include <string>

namespace rematlas::explorer {

inline constexpr int unit_role = Qt::UserRole + 50;  ///< role of headers: "bytes", "ns", "ratio"
inline constexpr int number_role = Qt::UserRole;     ///< role of cells in a column with a unit: the number

/// Returns the rows and columns in the order of the model. A filter model has only the rows that are
/// shown. Must be called in the GUI's thread. Cost: linear.
std::string csv_table(const QAbstractItemModel& model);

}  // namespace rematlas::explorer
