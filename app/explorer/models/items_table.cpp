#include "app/explorer/models/items_table.h"

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

void ItemsTable::set_ladder(LadderPtr ladder) {
    beginResetModel();
    ladder_ = std::move(ladder);
    endResetModel();
}

const BlockViewItem& ItemsTable::item_at(int row) const {
    return ladder_->view.items[static_cast<std::size_t>(row)];
}

Selected ItemsTable::selected_at(int row) const {
    return selected_of(item_at(row));
}

int ItemsTable::row_of(const Selected& selected) const {
    if (!ladder_ || selected.empty()) return -1;
    OpId op = selected.op;
    if (!op.valid()) op = ladder_->graph->facts[selected.block].first;
    return op.valid() ? ladder_->item_of[op] : -1;
}

int ItemsTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !ladder_ ? 0 : static_cast<int>(ladder_->view.items.size());
}

std::vector<FiguresTable::Column> ItemsTable::columns() const {
    return {{tr("Name"), tr("The op with its module, or the block"), false},
            {tr("Phase"), tr("Of the training step"), false},
            {tr("Ops"), tr("Operations inside"), true},
            {tr("Made"), tr("Bytes of all outputs, each op run once"), true, "bytes"},
            {tr("Kept"), tr("Of these, bytes that stay until their last use"), true, "bytes"},
            {tr("Recomputed"), tr("Of these, bytes that are freed and made again"), true, "bytes"},
            {tr("Offloaded"), tr("Of these, bytes that are copied to the host and back"), true, "bytes"},
            {tr("Time"), tr("Of each op run once"), true, "ns"},
            {tr("Runs"), tr("Of all its ops in the schedule"), true},
            {tr("Decision"), tr("What happens to most of its bytes"), false}};
}

QString ItemsTable::text_at(int row, int column) const {
    const BlockViewItem& item = item_at(row);
    const bool scheduled = item.runs > 0;
    switch (column) {
        case name:
            return text(item.path.empty() ? item.label : item.path);
        case phase:
            return phase_text(item.phase);
        case ops:
            return QString::number(item.op_count);
        case made:
            return bytes_text(item.made.total());
        case kept:
            return scheduled ? bytes_text(item.made.kept) : QString();
        case recomputed:
            return scheduled ? bytes_text(item.made.recomputed) : QString();
        case offloaded:
            return scheduled ? bytes_text(item.made.offloaded) : QString();
        case time:
            return time_text(item.time);
        case runs:
            return scheduled ? QString::number(item.runs) : QString();
        default:
            return scheduled ? decision_text(item.made.largest()) : QString();
    }
}

QVariant ItemsTable::value_at(int row, int column) const {
    const BlockViewItem& item = item_at(row);
    const auto with_schedule = [&](qint64 value) { return item.runs > 0 ? QVariant(value) : QVariant(); };
    switch (column) {
        case ops:
            return item.op_count;
        case made:
            return static_cast<qint64>(item.made.total().value);
        case kept:
            return with_schedule(item.made.kept.value);
        case recomputed:
            return with_schedule(item.made.recomputed.value);
        case offloaded:
            return with_schedule(item.made.offloaded.value);
        case time:
            return static_cast<qint64>(item.time.value);
        default:
            return with_schedule(item.runs);
    }
}

}  // namespace rematlas::explorer
