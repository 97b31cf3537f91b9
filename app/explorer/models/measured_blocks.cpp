#include "app/explorer/models/measured_blocks.h"

#include <algorithm>

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

void MeasuredBlocks::show_at(MeasurementPtr measurement, std::size_t device, TraceMoment moment) {
    beginResetModel();
    measurement_ = std::move(measurement);
    device_ = device;
    rows_.clear();
    total_ = {};
    const std::vector<MeasuredBlock>& blocks = measurement_->memory.devices[device_].blocks;
    for (std::uint32_t i = 0; i < blocks.size(); ++i) {
        if (!blocks[i].alive_at(moment)) continue;
        rows_.push_back(i);
        total_ += blocks[i].bytes;
    }
    std::stable_sort(rows_.begin(), rows_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return blocks[a].bytes > blocks[b].bytes; });
    endResetModel();
}

const MeasuredBlock& MeasuredBlocks::block(int row) const {
    return measurement_->memory.devices[device_].blocks[rows_[static_cast<std::size_t>(row)]];
}

int MeasuredBlocks::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

QVariant MeasuredBlocks::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    // Does not call `columns()`, because that makes all titles, and sorting asks for each value many times.
    const bool number = index.column() >= bytes && index.column() <= until;
    if (role == value_role && number) return value_at(index.row(), index.column());
    if (role == value_role) return text_at(index.row(), index.column());
    if (role == Qt::ToolTipRole) return stack_of(block(index.row()));
    return FiguresTable::data(index, role);
}

std::vector<FiguresTable::Column> MeasuredBlocks::columns() const {
    return {{tr("Allocated by"), tr("The innermost call in your own code; a tip on the row has all calls"),
             false},
            {tr("Bytes"), tr("As requested: the allocator rounds them up"), true, "bytes"},
            {tr("Since event"), tr("The event that allocated it; 0 where that was before the trace begins"),
             true},
            {tr("Until event"), tr("The event that gives it back; none where it stays"), true},
            {tr("Address"), tr("Where it lies on the device"), false},
            {tr("Words"), tr("What the program noted at its allocation"), false}};
}

QString MeasuredBlocks::text_at(int row, int column) const {
    const MeasuredBlock& at = block(row);
    switch (column) {
        case place:
            return text(share_name(measurement_->memory, share_of(measurement_->memory, at)));
        case bytes:
            return bytes_text(at.bytes);
        case from:
            return QString::number(at.from);
        case until:
            return at.until > measurement_->memory.devices[device_].events() ? QString()
                                                                             : QString::number(at.until);
        case address:
            return QStringLiteral("0x") + QString::number(at.address, 16);
        default:
            return text(measurement_->memory.texts[at.metadata]);
    }
}

QVariant MeasuredBlocks::value_at(int row, int column) const {
    const MeasuredBlock& at = block(row);
    return column == bytes ? qlonglong(at.bytes.value) : qlonglong(column == from ? at.from : at.until);
}

QString MeasuredBlocks::stack_of(const MeasuredBlock& block) const {
    const MeasuredMemory& memory = measurement_->memory;
    QStringList calls;
    for (const FrameId frame : memory.stacks.frames(block.stack))
        calls << text(full_place_text(memory.stacks[frame], memory.texts));
    return calls.isEmpty() ? text(share_name(memory, share_of(memory, block))) : calls.join('\n');
}

}  // namespace rematlas::explorer
