#include "app/explorer/models/peak_differences_table.h"

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

PeakDifferencesTable::PeakDifferencesTable(QObject* parent) : FiguresTable(parent) {
    add(tr("At the peak of"), tr("Where it is, and not at the other peak"), words,
        [this](int row) { return at(row).measured ? tr("the measurement") : tr("the plan"); });
    add(tr("Bytes"), tr("Of all of these blocks"), bytes, [this](int row) { return at(row).total(); });
    add(tr("Blocks"), tr("So many more of this size than at the other peak"), count,
        [this](int row) { return at(row).blocks; });
    add(tr("Names"), tr("Lines of your code, or tensors of the plan, that have blocks of this size"), words,
        [this](int row) { return text(at(row).names); });
}

void PeakDifferencesTable::set_differences(std::vector<PeakDifference> differences) {
    beginResetModel();
    differences_ = std::move(differences);
    endResetModel();
}

}  // namespace rematlas::explorer
