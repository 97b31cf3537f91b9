#include "app/explorer/models/steps_table.h"

#include <algorithm>

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

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

OpId StepsTable::op_of(int row) const {
    const Step& step = step_at(row);
    return step.names_op() ? step.op() : schedule_->graph->producer[step.tensor()];
}

Selected StepsTable::selected_at(int row) const {
    return Selected::of(op_of(row));
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

int StepsTable::rowCount(const QModelIndex& parent) const {
    if (parent.isValid() || !schedule_) return 0;
    const int steps = static_cast<int>(schedule_->simulation.steps.size());
    return range_.all() ? steps : std::clamp(steps - range_.first, 0, range_.last - range_.first + 1);
}

std::vector<FiguresTable::Column> StepsTable::columns() const {
    return {{tr("Step"), tr("Its place in the schedule"), true},
            {tr("What"), tr("What happens in it"), false},
            {tr("Name"), tr("The op that runs, or the tensor"), false},
            {tr("Module"), tr("Of the op that runs, or that made the tensor"), false},
            {tr("Line"), tr("Of the model, where the op is called"), false},
            {tr("Phase"), tr("Of the training step"), false},
            {tr("Start"), tr("Since the training step began"), true, "ns"},
            {tr("Time"), tr("That it takes"), true, "ns"},
            {tr("Held during"), tr("Memory held while it runs"), true, "bytes"},
            {tr("Held after"), tr("Memory held when it is over"), true, "bytes"}};
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

QString StepsTable::text_at(int row, int column) const {
    const LoadedGraph& graph = *schedule_->graph;
    const Step& step = step_at(row);
    const StepTrace& trace = schedule_->simulation.steps[static_cast<std::size_t>(step_of(row))];
    const OpId op = op_of(row);
    switch (column) {
        case StepsTable::step:
            return QString::number(step_of(row));
        case what:
            return what_happens(row);
        case name:
            return step.names_op() ? numbered_op(graph, op) : tensor_name(graph, step.tensor());
        case module:
            return op.valid() ? text(graph.graph.ops[op].module) : QString();
        case source:
            return op.valid() ? text(graph.graph.ops[op].source) : QString();
        case phase:
            return op.valid() ? phase_text(graph.graph.ops[op].phase) : QString();
        case start:
            return time_text(trace.start);
        case time:
            return step.runs() ? time_text(trace.end - trace.start) : QString();
        case during:
            return bytes_text(trace.during);
        default:
            return bytes_text(trace.after);
    }
}

QVariant StepsTable::value_at(int row, int column) const {
    const StepTrace& trace = schedule_->simulation.steps[static_cast<std::size_t>(step_of(row))];
    switch (column) {
        case StepsTable::step:
            return step_of(row);
        case start:
            return static_cast<qint64>(trace.start.value);
        case time:
            return static_cast<qint64>((trace.end - trace.start).value);
        case during:
            return static_cast<qint64>(trace.during.value);
        default:
            return static_cast<qint64>(trace.after.value);
    }
}

}  // namespace rematlas::explorer
