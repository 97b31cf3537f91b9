#include "app/explorer/models/lifetimes_table.h"

#include <algorithm>
#include <cmath>

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

void LifetimesTable::set_bars(SchedulePtr schedule, LifetimeBars bars) {
    beginResetModel();
    schedule_ = std::move(schedule);
    bars_ = std::move(bars);
    endResetModel();
}

Selected LifetimesTable::selected_at(int row) const {
    return bar_at(row).maker.valid() ? Selected::of(bar_at(row).maker) : Selected();
}

int LifetimesTable::row_of(const Selected& selected) const {
    const auto found = std::find_if(bars_.bars.begin(), bars_.bars.end(), [&](const LifetimeBar& bar) {
        return selected.op.valid() && bar.maker == selected.op;
    });
    return found == bars_.bars.end() ? -1 : static_cast<int>(found - bars_.bars.begin());
}

int LifetimesTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !schedule_ ? 0 : static_cast<int>(bars_.bars.size());
}

std::vector<FiguresTable::Column> LifetimesTable::columns() const {
    return {{tr("Tensor"), tr("What is held"), false},
            {tr("Shape"), tr("Type and sizes of the tensor as it is made"), false},
            {tr("Bytes"), tr("That it takes now"), true, "bytes"},
            {tr("Since"), tr("When it was made, or made again"), true, "ns"},
            {tr("Made by"), tr("The op that makes it"), false},
            {tr("Reads"), tr("How often it is read before it is freed"), true},
            {tr("Until"), tr("When it is freed, or written over"), true, "ns"},
            {tr("Unused"), tr("The longest time between two uses"), true,
             bars_.spans.axis == LaneAxis::time ? "ns" : ""},
            {tr("Line"), tr("Of the model, where the tensor is made"), false}};
}

QString LifetimesTable::start_of(int step) const {
    return time_text(schedule_->simulation.steps[static_cast<std::size_t>(step)].start);
}

QString LifetimesTable::text_at(int row, int column) const {
    const LifetimeBar& bar = bar_at(row);
    switch (column) {
        case name:
            return text(bar.name);
        case shape:
            return text(bar.shape);
        case bytes:
            return bytes_text(bar.bytes);
        case made:
            return bar.made < 0 ? tr("always") : start_of(bar.made);
        case maker:
            return bar.maker.valid() ? numbered_op(*schedule_->graph, bar.maker) : QString();
        case reads:
            return QString::number(bar.reads.size());
        case freed:
            return bar.freed < 0 ? tr("the end") : start_of(bar.freed);
        case idle:
            return bar.idle() > 0 ? text(idle_text(bars_, bar)) : QString();
        default:
            return bar.tensor.valid() ? source_text(*schedule_->graph, bar.tensor) : QString();
    }
}

QVariant LifetimesTable::value_at(int row, int column) const {
    const LifetimeBar& bar = bar_at(row);
    const std::vector<StepTrace>& steps = schedule_->simulation.steps;
    const auto start = [&](int step, Nanoseconds without) {
        const Nanoseconds at = step < 0 ? without : steps[static_cast<std::size_t>(step)].start;
        return static_cast<qint64>(at.value);
    };
    switch (column) {
        case bytes:
            return static_cast<qint64>(bar.bytes.value);
        case made:
            return start(bar.made, Nanoseconds(0));
        case freed:
            return start(bar.freed, schedule_->simulation.time);
        case idle:
            return static_cast<qint64>(std::llround(bar.idle()));
        default:
            return static_cast<qint64>(bar.reads.size());
    }
}

}  // namespace rematlas::explorer
