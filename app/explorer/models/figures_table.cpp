#include "app/explorer/models/figures_table.h"

#include <QStringList>

#include "app/explorer/models/csv_table.h"

namespace rematlas::explorer {

int FiguresTable::columnCount(const QModelIndex& parent) const {
    // The number of columns is computed only once. Views ask for it once per row, and making and translating
    // all titles each time would block the window.
    if (count_ == 0) count_ = static_cast<int>(columns().size());
    return parent.isValid() ? 0 : count_;
}

QVariant FiguresTable::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    switch (role) {
        case Qt::DisplayRole:
        case Qt::ToolTipRole:
            return text_at(index.row(), index.column());
        case value_role:
            return columns()[static_cast<std::size_t>(index.column())].number
                       ? value_at(index.row(), index.column())
                       : QVariant(text_at(index.row(), index.column()));
        case Qt::TextAlignmentRole:
            return int(Qt::AlignVCenter) |
                   (columns()[static_cast<std::size_t>(index.column())].number ? Qt::AlignRight
                                                                               : Qt::AlignLeft);
        default:
            return {};
    }
}

QVariant FiguresTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    const std::vector<Column> all = columns();
    const Column& column = all[static_cast<std::size_t>(section)];
    if (role == Qt::DisplayRole) return column.title;
    if (role == Qt::ToolTipRole) return column.meaning;
    if (role == unit_role) return QString(column.unit);
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignVCenter) | (column.number ? Qt::AlignRight : Qt::AlignLeft);
    return {};
}

QString as_text(const QAbstractItemModel& model, const std::vector<int>& rows, bool exact) {
    QStringList lines, titles;
    for (int column = 0; column < model.columnCount(); ++column)
        titles << model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    lines << titles.join('\t');
    for (const int row : rows) {
        QStringList cells;
        for (int column = 0; column < model.columnCount(); ++column) {
            const int role = exact ? FiguresTable::value_role : int(Qt::DisplayRole);
            cells << model.index(row, column).data(role).toString().replace('\t', ' ').replace('\n', ' ');
        }
        lines << cells.join('\t');
    }
    return lines.join('\n') + '\n';
}

}  // namespace rematlas::explorer
