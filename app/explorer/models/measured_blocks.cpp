#include "app/explorer/models/measured_blocks.h"

#include <algorithm>

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

MeasuredBlocks::MeasuredBlocks(QObject* parent) : FiguresTable(parent) {
    add(tr("Allocated by"), tr("The innermost call in your own code; a tip on the row has all calls"), words,
        [this](int row) {
            return text(share_name(measurement_->memory, share_of(measurement_->memory, block(row))));
        });
    add(tr("Bytes"), tr("As requested: the allocator rounds them up"), bytes,
        [this](int row) { return block(row).bytes; });
    add(tr("Since event"), tr("The event that allocated it; 0 where that was before the trace begins"), count,
        [this](int row) { return block(row).from; });
    add(tr("Until event"), tr("The event that gives it back; none where it stays"), count, [this](int row) {
        const TraceMoment until = block(row).until;
        return until > measurement_->memory.devices[device_].events() ? Figure(until, QString())
                                                                      : Figure(until);
    });
    add(tr("Address"), tr("Where it lies on the device"), words,
        [this](int row) { return QStringLiteral("0x") + QString::number(block(row).address, 16); });
    add(tr("Words"), tr("What the program noted at its allocation"), words,
        [this](int row) { return text(measurement_->memory.texts[block(row).metadata]); });
}

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

QVariant MeasuredBlocks::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || role != Qt::ToolTipRole) return FiguresTable::data(index, role);
    const MeasuredMemory& memory = measurement_->memory;
    const MeasuredBlock& shown = block(index.row());
    QStringList calls;
    for (const FrameId frame : memory.stacks.frames(shown.stack))
        calls << text(full_place_text(memory.stacks[frame], memory.texts));
    return calls.isEmpty() ? text(share_name(memory, share_of(memory, shown))) : calls.join('\n');
}

}  // namespace rematlas::explorer
