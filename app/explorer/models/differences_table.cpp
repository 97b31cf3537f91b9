#include "app/explorer/models/differences_table.h"

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

/// Returns the bytes as a text; an empty text for 0 bytes.
QString held_text(Bytes bytes) {
    return bytes.value > 0 ? bytes_text(bytes) : QString();
}

QString runs_text(int runs, bool on_host) {
    return on_host ? DifferencesTable::tr("on the host") : QString::number(runs);
}

}  // namespace

void DifferencesTable::set_compared(ComparedPtr compared) {
    beginResetModel();
    compared_ = std::move(compared);
    endResetModel();
}

Selected DifferencesTable::selected_at(int row) const {
    return Selected::of(at(row).op);
}

int DifferencesTable::row_of(const Selected& selected) const {
    for (int row = 0; row < rowCount(); ++row)
        if (selected.op.valid() && at(row).op == selected.op) return row;
    return -1;
}

int DifferencesTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !compared_ ? 0 : static_cast<int>(compared_->found.ops.size());
}

std::vector<FiguresTable::Column> DifferencesTable::columns() const {
    const QString a = compared_ ? compared_->name_a : QString(),
                  b = compared_ ? compared_->name_b : QString();
    return {
        {tr("Op"), tr("What runs differently, or lies in memory at one peak and not at the other"), false},
        {tr("Module"), tr("The part of the model that it belongs to"), false},
        {tr("Runs, %1").arg(a), tr("How often plan %1 runs it").arg(a), true},
        {tr("Runs, %1").arg(b), tr("How often plan %1 runs it").arg(b), true},
        {tr("Time"), tr("That its runs on the device take in %1, less those in %2").arg(b, a), true},
        {tr("At the peak of %1").arg(a), tr("What it made that lies in memory when %1 needs the most").arg(a),
         true},
        {tr("At the peak of %1").arg(b), tr("What it made that lies in memory when %1 needs the most").arg(b),
         true}};
}

QString DifferencesTable::text_at(int row, int column) const {
    const OpDifference& op = at(row);
    switch (column) {
        case name:
            return numbered_op(*compared_->a->graph, op.op);
        case module:
            return text(compared_->a->graph->graph.ops[op.op].module);
        case runs_a:
            return runs_text(op.runs_a, op.on_host_a);
        case runs_b:
            return runs_text(op.runs_b, op.on_host_b);
        case time:
            return op.time.value == 0 ? QString() : signed_time(op.time);
        case peak_a:
            return held_text(op.at_peak_a);
        default:
            return held_text(op.at_peak_b);
    }
}

QVariant DifferencesTable::value_at(int row, int column) const {
    const OpDifference& op = at(row);
    switch (column) {
        case runs_a:
            return op.runs_a;
        case runs_b:
            return op.runs_b;
        case time:
            return static_cast<qint64>(op.time.value);
        case peak_a:
            return static_cast<qint64>(op.at_peak_a.value);
        default:
            return static_cast<qint64>(op.at_peak_b.value);
    }
}

}  // namespace rematlas::explorer
