#include "app/explorer/models/sweep_table.h"

#include "app/explorer/words/wording.h"
#include "viz/paint/sweep_curves.h"

namespace rematlas::explorer {

void SweepTable::set_sweep(const Sweep& sweep) {
    beginResetModel();
    rows_.clear();
    for (std::size_t curve = 0; curve < sweep.curves.size(); ++curve) {
        const SweepCurve& of = sweep.curves[curve];
        for (std::size_t point = 0; point < of.points.size(); ++point) {
            const SweepPoint& at = of.points[point];
            rows_.push_back({.curve = static_cast<int>(curve),
                             .point = static_cast<int>(point),
                             .solver = text(curve_name(of)),
                             .figures = {.budget = at.budget,
                                         .status = at.status,
                                         .peak = at.peak,
                                         .overhead = at.overhead,
                                         .bound = at.bound,
                                         .steps = {}}});
        }
    }
    endResetModel();
}

int SweepTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

std::vector<FiguresTable::Column> SweepTable::columns() const {
    return {
        {tr("Solver"), tr("That looked for the schedule"), false},
        {tr("Budget"), tr("The most memory that was allowed"), true, "bytes"},
        {tr("Result"), tr("Whether a schedule was found, and whether it is proven to be the fastest"), false},
        {tr("Peak"), tr("The most memory that the schedule holds"), true, "bytes"},
        {tr("Added time"), tr("By recomputation, over the step without it"), true, "ratio"},
        {tr("At best"), tr("Proven: no schedule within the budget adds less time"), true, "ratio"}};
}

QString SweepTable::text_at(int row, int column) const {
    const Row& at = rows_[static_cast<std::size_t>(row)];
    const bool found = at.figures.peak.value > 0;
    switch (column) {
        case solver:
            return at.solver;
        case budget:
            return bytes_text(at.figures.budget);
        case status:
            return status_text(at.figures.status);
        case peak:
            return found ? bytes_text(at.figures.peak) : QString();
        case overhead:
            return found ? overhead_text(at.figures.overhead) : QString();
        default:
            return at.figures.bound ? overhead_text(at.figures.bound->overhead) : QString();
    }
}

QVariant SweepTable::value_at(int row, int column) const {
    const SweepPoint& point = rows_[static_cast<std::size_t>(row)].figures;
    const bool found = point.peak.value > 0;
    switch (column) {
        case budget:
            return static_cast<qint64>(point.budget.value);
        case peak:
            return found ? QVariant(static_cast<qint64>(point.peak.value)) : QVariant();
        case overhead:
            return found ? QVariant(point.overhead) : QVariant();
        default:
            return point.bound ? QVariant(point.bound->overhead) : QVariant();
    }
}

}  // namespace rematlas::explorer
