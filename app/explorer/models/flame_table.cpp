#include "app/explorer/models/flame_table.h"

#include "app/explorer/words/wording.h"
#include "viz/paint/flame_painter.h"

namespace rematlas::explorer {

FlameTable::FlameTable() {
    add(tr("Name"), tr("The phase, the module or the op"), words, [this](int row) {
        return box(row).is_run ? numbered_op(*chart_->schedule->graph, first(row).op)
                               : text(flame_name(chart_->data, graph(), box(row)));
    });
    add(tr("Module"), tr("Path of the module"), words,
        [this](int row) { return text(module_of(chart_->data, graph(), box(row))); });
    add(tr("Level"), tr("Boxes that it lies in"), count, [this](int row) { return box(row).level; });
    add(tr("Runs"), tr("Of its ops, one after the other"), count, [this](int row) { return sums(row).runs; });
    add(tr("Again"), tr("Of these, runs that are not the first of their op"), count,
        [this](int row) { return sums(row).again; });
    add(tr("Start"), tr("Since the training step began"), time, [this](int row) {
        return chart_->schedule->simulation.steps[static_cast<std::size_t>(first(row).step)].start;
    });
    add(tr("Time"), tr("Of its runs together"), time, [this](int row) { return sums(row).time; });
    add(tr("Share"), tr("Of the time of the step"), share, [this](int row) {
        const auto whole = static_cast<double>(chart_->data.time.value);
        return whole > 0 ? static_cast<double>(sums(row).time.value) / whole : 0.0;
    });
    add(tr("Made"), tr("Bytes of all outputs of its runs"), bytes,
        [this](int row) { return sums(row).made; });
    add(tr("Held"), tr("The most that is in memory at a time while it runs"), bytes,
        [this](int row) { return sums(row).most_held; });
    add(tr("Line"), tr("Of the model, where the op is called"), words,
        [this](int row) { return box(row).is_run ? text(graph().ops[first(row).op].source) : QString(); });
}

void FlameTable::set_chart(FlameChartPtr chart) {
    beginResetModel();
    chart_ = std::move(chart);
    sums_.clear();
    if (chart_)
        for (const FlameBox& box : chart_->data.boxes)
            sums_.push_back(chart_->data.sums(box.first, box.last));
    endResetModel();
}

}  // namespace rematlas::explorer
