#include "app/explorer/models/item_notes.h"

#include "core/pins/pinned_ops.h"

namespace rematlas::explorer {
namespace {

void note_what_runs(const Ladder& ladder, const LoadedSchedule& schedule, const StepRange& range,
                    std::vector<ItemNote>& notes) {
    for (ItemNote& note : notes) note.aside = true;
    const std::vector<Step>& steps = schedule.schedule.steps;
    for (int i = range.first; i <= range.last && i < static_cast<int>(steps.size()); ++i) {
        const Step& step = steps[static_cast<std::size_t>(i)];
        const int item = step.runs() ? ladder.item_of[step.op()] : -1;
        if (item >= 0) notes[static_cast<std::size_t>(item)].aside = false;
    }
}

}  // namespace

std::vector<ItemNote> item_notes(const Ladder& ladder, const LoadedSchedule* schedule, const StepRange& range,
                                 const Pins& pins) {
    std::vector<ItemNote> notes(ladder.view.items.size());
    if (schedule && !range.all()) note_what_runs(ladder, *schedule, range, notes);
    for (const Pin& pin : pins) {
        const Result<std::vector<OpId>> ops = ops_of_pin(ladder.graph->graph, pin);
        if (!ops) continue;
        for (const OpId op : *ops)
            if (const int item = ladder.item_of[op]; item >= 0)
                notes[static_cast<std::size_t>(item)].pin = pin.kind;
    }
    return notes;
}

}  // namespace rematlas::explorer
