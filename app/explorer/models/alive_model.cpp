#include "app/explorer/models/alive_model.h"

#include <algorithm>
#include <map>

#include "app/explorer/models/csv_table.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

void AliveModel::set_schedule(SchedulePtr schedule) {
    beginResetModel();
    lifetimes_.reset();
    schedule_ = schedule && !schedule->simulation.steps.empty() ? std::move(schedule) : nullptr;
    if (schedule_) lifetimes_ = std::make_unique<TensorLifetimes>(*schedule_);
    asked_ = -1;
    refill();
    endResetModel();
}

void AliveModel::set_step(int step) {
    beginResetModel();
    asked_ = step;
    refill();
    endResetModel();
}

void AliveModel::set_range(const StepRange& range) {
    if (range == range_) return;
    beginResetModel();
    range_ = range;
    refill();
    endResetModel();
}

void AliveModel::set_by_module(bool by_module) {
    beginResetModel();
    by_module_ = by_module;
    refill();
    endResetModel();
}

void AliveModel::refill() {
    rows_.clear();
    tensors_ = 0;
    total_ = {};
    step_ = -1;
    if (!lifetimes_) return;
    const std::vector<Step>& steps = schedule_->schedule.steps;
    step_ = run_looked_at(*schedule_, asked_, range_);
    const Alive alive = lifetimes_->during(step_);
    tensors_ = alive.tensors.size();
    total_ = alive.total();
    for (const AliveTensor& tensor : alive.tensors)
        rows_.push_back({.kind = Row::Kind::tensor,
                         .bytes = tensor.bytes,
                         .op = schedule_->graph->producer[tensor.tensor],
                         .alive = tensor,
                         .module = {}});
    if (alive.workspace.value > 0)
        rows_.push_back({.kind = Row::Kind::workspace,
                         .bytes = alive.workspace,
                         .op = steps[static_cast<std::size_t>(step_)].op(),
                         .alive = {},
                         .module = {}});
    if (by_module_) sum_by_module();
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
}

void AliveModel::sum_by_module() {
    std::map<QString, Row> sums;
    for (const Row& row : rows_) {
        Row& sum = sums[module_of(row)];
        sum.bytes += row.bytes;
        if (row.kind == Row::Kind::tensor) ++sum.tensors;
    }
    rows_.clear();
    for (auto& [module, sum] : sums) {
        sum.kind = Row::Kind::module;
        sum.module = module;
        rows_.push_back(std::move(sum));
    }
}

QString AliveModel::module_of(const Row& row) const {
    return row.op.valid() ? text(schedule_->graph->graph.ops[row.op].module) : tr("resident");
}

int AliveModel::born_step(const Row& row) const {
    if (row.kind == Row::Kind::workspace) return step_;
    return row.kind == Row::Kind::tensor ? row.alive.born : -1;
}

QString AliveModel::headline() const {
    if (step_ < 0) return {};
    const OpId op = schedule_->schedule.steps[static_cast<std::size_t>(step_)].op();
    const QString name = numbered_op(*schedule_->graph, op);
    const bool peak = step_ == static_cast<int>(schedule_->simulation.peak_step);
    return tr("%1 while %2 runs, at %3: %4 tensors, %5")
        .arg(peak ? tr("Peak,") : tr("In memory"), name,
             time_text(schedule_->simulation.steps[static_cast<std::size_t>(step_)].start)
                 .replace(' ', QChar::Nbsp))  // prevents a line break within the time
        .arg(tensors_)
        .arg(bytes_text(total_));
}

TensorId AliveModel::tensor_at(int row) const {
    return rows_[static_cast<std::size_t>(row)].alive.tensor;
}

OpId AliveModel::op_at(int row) const {
    return rows_[static_cast<std::size_t>(row)].op;
}

int AliveModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int AliveModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : column_count;
}

QString AliveModel::text_at(const Row& row, int column) const {
    const bool is_tensor = row.kind == Row::Kind::tensor, is_module = row.kind == Row::Kind::module;
    switch (column) {
        case what:
            if (is_tensor) return tensor_name(*schedule_->graph, row.alive.tensor);
            if (!is_module) return tr("workspace");
            return row.module.isEmpty() ? tr("the step itself") : row.module;
        case bytes:
            return bytes_text(row.bytes);
        case share:
            return percent_text(total_.value > 0
                                    ? static_cast<double>(row.bytes.value) / static_cast<double>(total_.value)
                                    : 0);
        case shape:
            return is_tensor ? layout_text(schedule_->graph->graph, row.alive.tensor) : QString();
        case module:
            return is_module ? QString() : module_of(row);
        case source:
            return is_tensor ? source_text(*schedule_->graph, row.alive.tensor) : QString();
        case born:
            if (!is_tensor) return {};
            if (row.alive.born < 0) return tr("always");
            return time_text(schedule_->simulation.steps[static_cast<std::size_t>(row.alive.born)].start);
        default:
            if (is_tensor) return lifetimes_->why(row.alive, step_);
            return is_module ? tr("%1 tensors").arg(row.tensors) : tr("held while it runs");
    }
}

QVariant AliveModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Row& row = rows_[static_cast<std::size_t>(index.row())];
    const bool by_bytes = index.column() == bytes || index.column() == share;
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignVCenter) | (by_bytes || index.column() == born ? Qt::AlignRight : Qt::AlignLeft);
    if (role == sort_role && by_bytes) return static_cast<qint64>(row.bytes.value);
    if (role == sort_role && index.column() == born) return born_step(row);
    if (role != Qt::DisplayRole && role != sort_role && role != Qt::ToolTipRole) return {};
    return text_at(row, index.column());
}

QVariant AliveModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    const std::pair<QString, QString> headers[] = {
        {by_module_ ? tr("Module") : tr("Tensor"), tr("What is held")},
        {tr("Bytes"), tr("That it takes now")},
        {tr("Share"), tr("Of all that is held")},
        {tr("Shape"), tr("Type and sizes of the tensor as it is made")},
        {tr("Module"), tr("Of the op that made it")},
        {tr("Line"), tr("Of the model, where the tensor is made")},
        {tr("Since"), tr("When it was made, or made again")},
        {tr("Why"), tr("Who needs it")},
    };
    if (role == Qt::DisplayRole) return headers[section].first;
    if (role == Qt::ToolTipRole) return headers[section].second;
    if (role == unit_role && section == bytes) return "bytes";
    if (role == unit_role && section == born) return "step";
    return {};
}

}  // namespace rematlas::explorer
