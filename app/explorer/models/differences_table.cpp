#include "app/explorer/models/differences_table.h"

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

/// Returns a cell with the bytes. The text of the cell is empty for 0 bytes.
Figure held_figure(Bytes bytes) {
    return {bytes, bytes.value > 0 ? bytes_text(bytes) : QString()};
}

Figure runs_figure(int runs, bool on_host) {
    return on_host ? Figure(runs, DifferencesTable::tr("on the host")) : Figure(runs);
}

}  // namespace

DifferencesTable::DifferencesTable(QObject* parent) : FiguresTable(parent) {
    set_columns();
}

void DifferencesTable::set_compared(ComparedPtr compared) {
    beginResetModel();
    compared_ = std::move(compared);
    set_columns();
    endResetModel();
}

int DifferencesTable::row_of(const Selected& selected) const {
    for (int row = 0; row < rowCount(); ++row)
        if (selected.op.valid() && at(row).op == selected.op) return row;
    return -1;
}

/// Sets the columns, whose titles have the names of the plans.
void DifferencesTable::set_columns() {
    const QString a = compared_ ? compared_->name_a : QString(),
                  b = compared_ ? compared_->name_b : QString();
    columns_.clear();
    add(tr("Op"), tr("What runs differently, or lies in memory at one peak and not at the other"), words,
        [this](int row) { return numbered_op(*compared_->a->graph, at(row).op); });
    add(tr("Module"), tr("The part of the model that it belongs to"), words,
        [this](int row) { return text(compared_->a->graph->graph.ops[at(row).op].module); });
    add(tr("Runs, %1").arg(a), tr("How often plan %1 runs it").arg(a), count,
        [this](int row) { return runs_figure(at(row).runs_a, at(row).on_host_a); });
    add(tr("Runs, %1").arg(b), tr("How often plan %1 runs it").arg(b), count,
        [this](int row) { return runs_figure(at(row).runs_b, at(row).on_host_b); });
    add(tr("Time"), tr("That its runs on the device take in %1, less those in %2").arg(b, a), count,
        [this](int row) {
            const Nanoseconds time = at(row).time;
            return Figure(time, time.value == 0 ? QString() : signed_time(time));
        });
    add(tr("At the peak of %1").arg(a), tr("What it made that lies in memory when %1 needs the most").arg(a),
        count, [this](int row) { return held_figure(at(row).at_peak_a); });
    add(tr("At the peak of %1").arg(b), tr("What it made that lies in memory when %1 needs the most").arg(b),
        count, [this](int row) { return held_figure(at(row).at_peak_b); });
}

}  // namespace rematlas::explorer
