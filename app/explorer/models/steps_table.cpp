#include "app/explorer/models/steps_table.h"

#include <algorithm>

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

StepsTable::StepsTable() {
    // Returns a function that makes a text of the row's op, or an empty text if the row has no op.
    const auto of_op = [this](auto text_of) {
        return [this, text_of](int row) {
            const OpId op = op_of(row);
            return op.valid() ? text_of(schedule_->graph->graph.ops[op]) : QString();
        };
    };
    add(tr("Step"), tr("Its place in the schedule"), count, [this](int row) { return step_of(row); });
    add(tr("What"), tr("What happens in it"), words, [this](int row) { return what_happens(row); });
    add(tr("Name"), tr("The op that runs, or the tensor"), words, [this](int row) {
        const Step& step = step_at(row);
        return step.names_op() ? numbered_op(*schedule_->graph, step.op())
                               : tensor_name(*schedule_->graph, step.tensor());
    });
    add(tr("Module"), tr("Of the op that runs, or that made the tensor"), words,
        of_op([](const Op& op) { return text(op.module); }));
    add(tr("Line"), tr("Of the model, where the op is called"), words,
        of_op([](const Op& op) { return text(op.source); }));
    add(tr("Phase"), tr("Of the training step"), words,
        of_op([](const Op& op) { return phase_text(op.phase); }));
    add(tr("Start"), tr("Since the training step began"), time,
        [this](int row) { return trace_at(row).start; });
    add(tr("Time"), tr("That it takes"), time, [this](int row) {
        const Nanoseconds time = trace_at(row).end - trace_at(row).start;
        return step_at(row).runs() ? Figure(time) : Figure(time, QString());
    });
    add(tr("Held during"), tr("Memory held while it runs"), bytes,
        [this](int row) { return trace_at(row).during; });
    add(tr("Held after"), tr("Memory held when it is over"), bytes,
        [this](int row) { return trace_at(row).after; });
}

void StepsTable::set_schedule(SchedulePtr schedule) {
    beginResetModel();
    schedule_ = schedule && !schedule->simulation.steps.empty() ? std::move(schedule) : nullptr;
    range_ = {};
    endResetModel();
}

void StepsTable::set_range(const StepRange& range) {
    if (range == range_) return;
    beginResetModel();
    range_ = range;
    endResetModel();
}

int StepsTable::row_of_step(int step) const {
    const int row = step - (range_.all() ? 0 : range_.first);
    return step >= 0 && row >= 0 && row < rowCount() ? row : -1;
}

const Step& StepsTable::step_at(int row) const {
    return schedule_->schedule.steps[static_cast<std::size_t>(step_of(row))];
}

const StepTrace& StepsTable::trace_at(int row) const {
    return schedule_->simulation.steps[static_cast<std::size_t>(step_of(row))];
}

OpId StepsTable::op_of(int row) const {
    const Step& step = step_at(row);
    return step.names_op() ? step.op() : schedule_->graph->producer[step.tensor()];
}

int StepsTable::row_of(const Selected& selected) const {
    if (!schedule_) return -1;
    const auto first_run = [&](OpId op) {
        const std::vector<int>& steps = schedule_->steps_of[op];
        for (const int step : steps)
            if (const int row = row_of_step(step); row >= 0) return row;
        return -1;
    };
    if (selected.op.valid()) return first_run(selected.op);
    if (!selected.block.valid()) return -1;
    const OpId first = schedule_->graph->facts[selected.block].first;
    return first.valid() ? first_run(first) : -1;
}

int StepsTable::rows() const {
    if (!schedule_) return 0;
    const int steps = static_cast<int>(schedule_->simulation.steps.size());
    return range_.all() ? steps : std::clamp(steps - range_.first, 0, range_.last - range_.first + 1);
}

QString StepsTable::what_happens(int row) const {
    const Step& step = step_at(row);
    switch (step.kind) {
        case StepKind::free:
            return tr("free");
        case StepKind::offload:
            return tr("copy to host");
        case StepKind::fetch:
            return tr("copy to device");
        case StepKind::drop:
            return tr("free on host");
        case StepKind::run_host:
            return tr("run on host");
        case StepKind::run:
        case StepKind::run_inplace:
            break;
    }
    if (schedule_->steps_of[step.op()].front() != step_of(row)) return tr("run again");
    return step.kind == StepKind::run_inplace ? tr("run in place") : tr("run");
}

}  // namespace rematlas::explorer
