#include "app/explorer/models/run_steps_table.h"

#include <cmath>

#include "app/explorer/words/wording.h"
#include "viz/paint/run_painter.h"

namespace rematlas::explorer {
namespace {

Nanoseconds time_of_step(const RunStep& step) {
    return Nanoseconds(std::llround(step.seconds * 1e9));
}

}  // namespace

void RunStepsTable::set_run(const RunSteps* run) {
    beginResetModel();
    run_ = run;
    rows_ = run_ == nullptr ? 0 : static_cast<int>(run_->steps.size());
    endResetModel();
}

void RunStepsTable::grow() {
    const int rows = static_cast<int>(run_->steps.size());
    if (rows <= rows_) return;
    beginInsertRows({}, rows_, rows - 1);
    rows_ = rows;
    endInsertRows();
}

int RunStepsTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : rows_;
}

std::vector<FiguresTable::Column> RunStepsTable::columns() const {
    return {{tr("Step"), tr("From 0 on, as the model was called"), true},
            {tr("Run by"), tr("Who ran the step: a plan, or the original model"), false},
            {tr("Peak"), tr("Of all tensors of the process on the device, measured"), true, "bytes"},
            {tr("Foretold"), tr("The peak that the plan foretold, with what lived beside the step"), true,
             "bytes"},
            {tr("Beyond"), tr("The measured peak less what the plan foretold"), true, "bytes"},
            {tr("Time"), tr("From the forward of the step to the next one"), true, "ns"},
            {tr("Why"), tr("Why the original ran the step"), false}};
}

QString RunStepsTable::text_at(int row, int column) const {
    const RunStep& at = run_->steps[static_cast<std::size_t>(row)];
    switch (column) {
        case step:
            return QString::number(at.number);
        case by:
            return text(runner_words(at.by));
        case peak:
            return bytes_text(at.peak);
        case foretold:
            return at.planned_peak ? bytes_text(*at.planned_peak) : QString();
        case beyond:
            return at.planned_peak ? signed_bytes(at.peak - *at.planned_peak) : QString();
        case seconds:
            return time_text(time_of_step(at));
        default:
            return text(at.why);
    }
}

QVariant RunStepsTable::value_at(int row, int column) const {
    const RunStep& at = run_->steps[static_cast<std::size_t>(row)];
    if (column == step) return qlonglong(at.number);
    if (column == peak) return qlonglong(at.peak.value);
    if (column == seconds) return qlonglong(time_of_step(at).value);
    if (!at.planned_peak) return {};
    return qlonglong(column == foretold ? at.planned_peak->value : (at.peak - *at.planned_peak).value);
}

}  // namespace rematlas::explorer
