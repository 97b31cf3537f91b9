#include "app/explorer/session/alive_model.h"

#include <algorithm>
#include <map>

#include "app/explorer/session/wording.h"

namespace rematlas::explorer {

void AliveModel::set_schedule(SchedulePtr schedule) {
    beginResetModel();
    lifetimes_.reset();
    schedule_ = schedule && !schedule->simulation.steps.empty() ? std::move(schedule) : nullptr;
    if (schedule_) lifetimes_ = std::make_unique<Lifetimes>(*schedule_);
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
    step_ = asked_ < 0 ? static_cast<int>(schedule_->simulation.peak_step) : asked_;
    while (step_ > 0 && !steps[static_cast<std::size_t>(step_)].runs()) --step_;
    const Alive alive = lifetimes_->during(step_);
    tensors_ = alive.tensors.size();
    total_ = alive.total();
    for (const AliveTensor& tensor : alive.tensors) rows_.push_back(row_of(tensor));
    if (alive.workspace.value > 0)
        rows_.push_back(
            {.what = tr("workspace"),
             .module = text(schedule_->graph->graph.ops[steps[static_cast<std::size_t>(step_)].op()].module),
             .born = {},
             .why = tr("held while it runs"),
             .bytes = alive.workspace,
             .born_step = step_,
             .op = steps[static_cast<std::size_t>(step_)].op()});
    if (by_module_) sum_by_module();
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
}

AliveModel::Row AliveModel::row_of(const AliveTensor& alive) const {
    const LoadedGraph& graph = *schedule_->graph;
    const OpId maker = graph.producer[alive.tensor];
    const Nanoseconds born = alive.born < 0
                                 ? Nanoseconds()
                                 : schedule_->simulation.steps[static_cast<std::size_t>(alive.born)].start;
    return {.what = tensor_name(graph, alive.tensor),
            .module = maker.valid() ? text(graph.graph.ops[maker].module) : tr("resident"),
            .born = alive.born < 0 ? tr("always") : time_text(born),
            .why = lifetimes_->why(alive, step_),
            .bytes = alive.bytes,
            .born_step = alive.born,
            .op = maker};
}

void AliveModel::sum_by_module() {
    std::map<QString, Row> sums;
    std::map<QString, int> counts;
    for (const Row& row : rows_) {
        Row& sum = sums[row.module];
        sum.what = row.module.isEmpty() ? tr("the step itself") : row.module;
        sum.bytes += row.bytes;
        sum.why = tr("%1 tensors").arg(++counts[row.module]);
    }
    rows_.clear();
    for (auto& [module, sum] : sums) rows_.push_back(std::move(sum));
}

QString AliveModel::headline() const {
    if (step_ < 0) return {};
    const OpId op = schedule_->schedule.steps[static_cast<std::size_t>(step_)].op();
    const QString name =
        QStringLiteral("%1 #%2").arg(short_op_name(schedule_->graph->graph.ops[op])).arg(op.value);
    const bool peak = step_ == static_cast<int>(schedule_->simulation.peak_step);
    return tr("%1 while %2 runs, at %3: %4 tensors, %5")
        .arg(peak ? tr("Peak,") : tr("In memory"), name,
             time_text(schedule_->simulation.steps[static_cast<std::size_t>(step_)].start))
        .arg(tensors_)
        .arg(bytes_text(total_));
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

QVariant AliveModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Row& row = rows_[static_cast<std::size_t>(index.row())];
    const double share =
        total_.value > 0 ? static_cast<double>(row.bytes.value) / static_cast<double>(total_.value) : 0;
    const bool number = index.column() == bytes || index.column() == Column::share || index.column() == born;
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignVCenter) | (number ? Qt::AlignRight : Qt::AlignLeft);
    if (role == sort_role) {
        if (index.column() == bytes || index.column() == Column::share)
            return static_cast<qint64>(row.bytes.value);
        if (index.column() == born) return row.born_step;
    }
    if (role != Qt::DisplayRole && role != sort_role && role != Qt::ToolTipRole) return {};
    switch (index.column()) {
        case what:
            return row.what;
        case bytes:
            return bytes_text(row.bytes);
        case Column::share:
            return percent_text(share);
        case module:
            return row.module;
        case born:
            return row.born;
        default:
            return row.why;
    }
}

QVariant AliveModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    const std::pair<QString, QString> headers[] = {
        {by_module_ ? tr("Module") : tr("Tensor"), tr("What is held")},
        {tr("Bytes"), tr("That it takes now")},
        {tr("Share"), tr("Of all that is held")},
        {tr("Module"), tr("Of the op that made it")},
        {tr("Since"), tr("When it was made, or made again")},
        {tr("Why"), tr("Who needs it")},
    };
    if (role == Qt::DisplayRole) return headers[section].first;
    if (role == Qt::ToolTipRole) return headers[section].second;
    return {};
}

}  // namespace rematlas::explorer
