#include "app/explorer/models/lifetimes_table.h"

#include <algorithm>
#include <cmath>

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

LifetimesTable::LifetimesTable() {
    add(tr("Tensor"), tr("What is held"), words, [this](int row) { return text(at(row).name); });
    add(tr("Shape"), tr("Type and sizes of the tensor as it is made"), words,
        [this](int row) { return text(at(row).shape); });
    add(tr("Bytes"), tr("That it takes now"), bytes, [this](int row) { return at(row).bytes; });
    add(tr("Since"), tr("When it was made, or made again"), time, [this](int row) {
        const int made = at(row).made;
        return made < 0 ? Figure(0, tr("always")) : Figure(start_of(made));
    });
    add(tr("Made by"), tr("The op that makes it"), words, [this](int row) {
        return at(row).maker.valid() ? numbered_op(*schedule_->graph, at(row).maker) : QString();
    });
    add(tr("Reads"), tr("How often it is read before it is freed"), count,
        [this](int row) { return at(row).reads.size(); });
    add(tr("Until"), tr("When it is freed, or written over"), time, [this](int row) {
        const int freed = at(row).freed;
        return freed < 0 ? Figure(schedule_->simulation.time, tr("the end")) : Figure(start_of(freed));
    });
    unused_ = columns_.size();
    add(tr("Unused"), tr("The longest time between two uses"), time, [this](int row) {
        const double idle = at(row).idle();
        return Figure(std::llround(idle), idle > 0 ? text(idle_text(bars_, at(row))) : QString());
    });
    add(tr("Line"), tr("Of the model, where the tensor is made"), words, [this](int row) {
        return at(row).tensor.valid() ? source_text(*schedule_->graph, at(row).tensor) : QString();
    });
}

void LifetimesTable::set_bars(SchedulePtr schedule, LifetimeBars bars) {
    beginResetModel();
    schedule_ = std::move(schedule);
    bars_ = std::move(bars);
    columns_[unused_].unit = bars_.spans.axis == LaneAxis::time ? time : count;
    endResetModel();
}

Selected LifetimesTable::selected_at(int row) const {
    return at(row).maker.valid() ? Selected::of(at(row).maker) : Selected();
}

int LifetimesTable::row_of(const Selected& selected) const {
    const auto found = std::find_if(bars_.bars.begin(), bars_.bars.end(), [&](const LifetimeBar& bar) {
        return selected.op.valid() && bar.maker == selected.op;
    });
    return found == bars_.bars.end() ? -1 : static_cast<int>(found - bars_.bars.begin());
}

Nanoseconds LifetimesTable::start_of(int step) const {
    return schedule_->simulation.steps[static_cast<std::size_t>(step)].start;
}

}  // namespace rematlas::explorer
