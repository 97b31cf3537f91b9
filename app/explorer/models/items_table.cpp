#include "app/explorer/models/items_table.h"

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

/// Returns the figure if a schedule runs the item, else an empty cell.
Figure if_scheduled(const BlockViewItem& item, const Figure& figure) {
    return item.runs > 0 ? figure : Figure();
}

}  // namespace

ItemsTable::ItemsTable() {
    add(tr("Name"), tr("The op with its module, or the block"), words,
        [this](int row) { return text(at(row).path.empty() ? at(row).label : at(row).path); });
    add(tr("Phase"), tr("Of the training step"), words,
        [this](int row) { return phase_text(at(row).phase); });
    add(tr("Ops"), tr("Operations inside"), count, [this](int row) { return at(row).op_count; });
    add(tr("Made"), tr("Bytes of all outputs, each op run once"), bytes,
        [this](int row) { return at(row).made.total(); });
    add(tr("Kept"), tr("Of these, bytes that stay until their last use"), bytes,
        [this](int row) { return if_scheduled(at(row), at(row).made.kept); });
    add(tr("Recomputed"), tr("Of these, bytes that are freed and made again"), bytes,
        [this](int row) { return if_scheduled(at(row), at(row).made.recomputed); });
    add(tr("Offloaded"), tr("Of these, bytes that are copied to the host and back"), bytes,
        [this](int row) { return if_scheduled(at(row), at(row).made.offloaded); });
    add(tr("Time"), tr("Of each op run once"), time, [this](int row) { return at(row).time; });
    add(tr("Runs"), tr("Of all its ops in the schedule"), count,
        [this](int row) { return if_scheduled(at(row), at(row).runs); });
    add(tr("Decision"), tr("What happens to most of its bytes"), words,
        [this](int row) { return at(row).runs > 0 ? decision_text(at(row).made.largest()) : QString(); });
}

void ItemsTable::set_ladder(LadderPtr ladder) {
    beginResetModel();
    ladder_ = std::move(ladder);
    endResetModel();
}

int ItemsTable::row_of(const Selected& selected) const {
    if (!ladder_ || selected.empty()) return -1;
    OpId op = selected.op;
    if (!op.valid()) op = ladder_->graph->facts[selected.block].first;
    return op.valid() ? ladder_->item_of[op] : -1;
}

}  // namespace rematlas::explorer
