#include "app/explorer/models/flame_table.h"

#include "app/explorer/words/wording.h"
#include "viz/paint/flame_painter.h"

namespace rematlas::explorer {

void FlameTable::set_chart(FlameChartPtr chart) {
    beginResetModel();
    chart_ = std::move(chart);
    sums_.clear();
    if (chart_)
        for (const FlameBox& box : chart_->data.boxes)
            sums_.push_back(chart_->data.sums(box.first, box.last));
    endResetModel();
}

Selected FlameTable::selected_at(int row) const {
    return selected_of(*chart_, row);
}

int FlameTable::row_of(const Selected& selected) const {
    return chart_ ? box_of(*chart_, selected, -1) : -1;
}

int FlameTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(sums_.size());
}

std::vector<FiguresTable::Column> FlameTable::columns() const {
    return {{tr("Name"), tr("The phase, the module or the op"), false},
            {tr("Module"), tr("Path of the module"), false},
            {tr("Level"), tr("Boxes that it lies in"), true},
            {tr("Runs"), tr("Of its ops, one after the other"), true},
            {tr("Again"), tr("Of these, runs that are not the first of their op"), true},
            {tr("Start"), tr("Since the training step began"), true, "ns"},
            {tr("Time"), tr("Of its runs together"), true, "ns"},
            {tr("Share"), tr("Of the time of the step"), true, "ratio"},
            {tr("Made"), tr("Bytes of all outputs of its runs"), true, "bytes"},
            {tr("Held"), tr("The most that is in memory at a time while it runs"), true, "bytes"},
            {tr("Line"), tr("Of the model, where the op is called"), false}};
}

QString FlameTable::text_at(int row, int column) const {
    const Graph& graph = chart_->schedule->graph->graph;
    const FlameData& data = chart_->data;
    const FlameBox& box = data.box(row);
    const FlameSums& sums = sums_[static_cast<std::size_t>(row)];
    const FlameRun& first = data.run(box.first);
    switch (column) {
        case name:
            return box.is_run ? numbered_op(*chart_->schedule->graph, first.op)
                              : text(flame_name(data, graph, box));
        case module:
            return text(module_of(data, graph, box));
        case level:
            return QString::number(box.level);
        case runs:
            return QString::number(sums.runs);
        case again:
            return QString::number(sums.again);
        case start:
            return time_text(chart_->schedule->simulation.steps[static_cast<std::size_t>(first.step)].start);
        case time:
            return time_text(sums.time);
        case share:
            return percent_text(value_at(row, share).toDouble());
        case made:
            return bytes_text(sums.made);
        case held:
            return bytes_text(sums.most_held);
        default:
            return box.is_run ? text(graph.ops[first.op].source) : QString();
    }
}

QVariant FlameTable::value_at(int row, int column) const {
    const FlameBox& box = chart_->data.box(row);
    const FlameSums& sums = sums_[static_cast<std::size_t>(row)];
    const double whole = static_cast<double>(chart_->data.time.value);
    const auto step = static_cast<std::size_t>(chart_->data.run(box.first).step);
    switch (column) {
        case level:
            return box.level;
        case runs:
            return sums.runs;
        case again:
            return sums.again;
        case start:
            return static_cast<qint64>(chart_->schedule->simulation.steps[step].start.value);
        case time:
            return static_cast<qint64>(sums.time.value);
        case share:
            return whole > 0 ? static_cast<double>(sums.time.value) / whole : 0.0;
        case made:
            return static_cast<qint64>(sums.made.value);
        default:
            return static_cast<qint64>(sums.most_held.value);
    }
}

}  // namespace rematlas::explorer
