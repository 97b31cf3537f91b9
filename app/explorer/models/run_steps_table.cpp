#include "app/explorer/models/run_steps_table.h"

#include <cmath>

#include "app/explorer/words/wording.h"
#include "viz/paint/run_painter.h"

namespace rematlas::explorer {

RunStepsTable::RunStepsTable(QObject* parent) : FiguresTable(parent) {
    add(tr("Step"), tr("From 0 on, as the model was called"), count,
        [this](int row) { return at(row).number; });
    add(tr("Run by"), tr("Who ran the step: a plan, or the original model"), words,
        [this](int row) { return text(runner_words(at(row).by)); });
    add(tr("Peak"), tr("Of all tensors of the process on the device, measured"), bytes,
        [this](int row) { return at(row).peak; });
    add(tr("Foretold"), tr("The peak that the plan foretold, with what lived beside the step"), bytes,
        [this](int row) { return at(row).planned_peak ? Figure(*at(row).planned_peak) : Figure(); });
    add(tr("Beyond"), tr("The measured peak less what the plan foretold"), bytes, [this](int row) {
        if (!at(row).planned_peak) return Figure();
        const Bytes beyond = at(row).peak - *at(row).planned_peak;
        return Figure(beyond, signed_bytes(beyond));
    });
    add(tr("Time"), tr("From the forward of the step to the next one"), time,
        [this](int row) { return std::llround(at(row).seconds * 1e9); });
    add(tr("Why"), tr("Why the original ran the step"), words, [this](int row) { return text(at(row).why); });
}

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

}  // namespace rematlas::explorer
