#include "app/explorer/models/figures_table.h"

#include <QStringList>

#include "app/explorer/models/csv_table.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

int FiguresTable::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(columns_.size());
}

QVariant FiguresTable::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Column& column = column_at(index.column());
    if (role == Qt::TextAlignmentRole) return headerData(index.column(), Qt::Horizontal, role);
    if (role != Qt::DisplayRole && role != Qt::ToolTipRole && role != value_role) return {};
    const Figure figure = column.figure_of(index.row());
    if (role == value_role) return figure.value;
    if (figure.text) return *figure.text;
    if (!figure.value.isValid()) return QString();
    switch (column.unit) {
        case bytes:
            return bytes_text(Bytes(figure.value.toLongLong()));
        case time:
            return time_text(Nanoseconds(figure.value.toLongLong()));
        case share:
            return percent_text(figure.value.toDouble());
        case overhead:
            return overhead_text(figure.value.toDouble());
        default:
            return figure.value.toString();
    }
}

QVariant FiguresTable::headerData(int section, Qt::Orientation orientation, int role) const {
    static constexpr const char* unit_names[] = {"", "", "bytes", "ns", "ratio", "ratio"};
    if (orientation != Qt::Horizontal) return {};
    const Column& column = column_at(section);
    if (role == Qt::DisplayRole) return column.title;
    if (role == Qt::ToolTipRole) return column.meaning;
    if (role == unit_role) return QString(unit_names[column.unit]);
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignVCenter) | (is_number(section) ? Qt::AlignRight : Qt::AlignLeft);
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
