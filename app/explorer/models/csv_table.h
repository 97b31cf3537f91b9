// Any table of the explorer as comma-separated lines (RFC 4180).
//
//     write_file(path, csv_table(*view->model()));
//
// A column of numbers says what they are in: its header answers `unit_role`, and stands in the file as "Peak
// (bytes)". There the exact numbers are written, those that the column is sorted by, and not what people
// read. Rows of a tree are written with their level in front, parents before their children.
#pragma once

#include <QAbstractItemModel>
#include <string>

namespace rematlas::explorer {

inline constexpr int unit_role = Qt::UserRole + 50;  ///< of headers: "bytes", "ns", "ratio"
inline constexpr int number_role = Qt::UserRole;     ///< of cells in such a column: the number

/// Rows and columns as the model has them: behind a filter, what it shows in its order. The GUI thread's.
/// Cost: linear.
std::string csv_table(const QAbstractItemModel& model);

}  // namespace rematlas::explorer
