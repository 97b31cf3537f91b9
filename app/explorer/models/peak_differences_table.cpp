#include "app/explorer/models/peak_differences_table.h"

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

void PeakDifferencesTable::set_differences(std::vector<PeakDifference> differences) {
    beginResetModel();
    differences_ = std::move(differences);
    endResetModel();
}

int PeakDifferencesTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(differences_.size());
}

std::vector<FiguresTable::Column> PeakDifferencesTable::columns() const {
    return {{tr("At the peak of"), tr("Where it is, and not at the other peak"), false},
            {tr("Bytes"), tr("Of all of these blocks"), true, "bytes"},
            {tr("Blocks"), tr("So many more of this size than at the other peak"), true},
            {tr("Names"), tr("Lines of your code, or tensors of the plan, that have blocks of this size"),
             false}};
}

QString PeakDifferencesTable::text_at(int row, int column) const {
    const PeakDifference& at = differences_[static_cast<std::size_t>(row)];
    switch (column) {
        case side:
            return at.measured ? tr("the measurement") : tr("the plan");
        case bytes:
            return bytes_text(at.total());
        case blocks:
            return QString::number(at.blocks);
        default:
            return text(at.names);
    }
}

QVariant PeakDifferencesTable::value_at(int row, int column) const {
    const PeakDifference& at = differences_[static_cast<std::size_t>(row)];
    return column == bytes ? qlonglong(at.total().value) : qlonglong(at.blocks);
}

}  // namespace rematlas::explorer
