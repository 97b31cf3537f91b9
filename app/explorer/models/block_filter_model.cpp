#include "app/explorer/models/block_filter_model.h"

#include <algorithm>

#include "app/explorer/models/block_tree_model.h"

namespace rematlas::explorer {

BlockFilterModel::BlockFilterModel(QObject* parent) : QSortFilterProxyModel(parent) {
    setSortRole(BlockTreeModel::sort_role);
    setDynamicSortFilter(true);
}

void BlockFilterModel::set_search(const QString& words) {
    const QStringList split = words.simplified().split(' ', Qt::SkipEmptyParts);
    if (split == words_) return;
    words_ = split;
    // Without search words all rows are accepted. Recursive filtering is then switched off, because it would
    // look at all descendants at each change of the data.
    if (isRecursiveFilteringEnabled() == words_.isEmpty()) {
        setRecursiveFilteringEnabled(!words_.isEmpty());
    } else {
        invalidateFilter();
    }
}

void BlockFilterModel::columns_changed(int first, int last) {
    if (sortColumn() >= first && sortColumn() <= last) invalidate();
}

bool BlockFilterModel::filterAcceptsRow(int row, const QModelIndex& parent) const {
    if (words_.isEmpty()) return true;
    return matches(sourceModel()->index(row, 0, parent).data(BlockTreeModel::search_role).toString());
}

bool BlockFilterModel::matches(const QModelIndex& index) const {
    return matches(index.data(BlockTreeModel::search_role).toString());
}

bool BlockFilterModel::matches(const QString& hay) const {
    return std::all_of(words_.begin(), words_.end(),
                       [&](const QString& word) { return hay.contains(word, Qt::CaseInsensitive); });
}

}  // namespace rematlas::explorer
