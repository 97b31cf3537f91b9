#include "app/explorer/models/sweep_table.h"

#include "app/explorer/words/wording.h"
#include "viz/paint/sweep_curves.h"

namespace rematlas::explorer {

SweepTable::SweepTable() {
    add(tr("Solver"), tr("That looked for the schedule"), words, [this](int row) { return at(row).solver; });
    add(tr("Budget"), tr("The most memory that was allowed"), bytes,
        [this](int row) { return at(row).figures.budget; });
    add(tr("Result"), tr("Whether a schedule was found, and whether it is proven to be the fastest"), words,
        [this](int row) { return status_text(at(row).figures.status); });
    add(tr("Peak"), tr("The most memory that the schedule holds"), bytes, [this](int row) {
        const SweepPoint& point = at(row).figures;
        return point.peak.value > 0 ? Figure(point.peak) : Figure();
    });
    add(tr("Added time"), tr("By recomputation, over the step without it"), overhead, [this](int row) {
        const SweepPoint& point = at(row).figures;
        return point.peak.value > 0 ? Figure(point.overhead) : Figure();
    });
    add(tr("At best"), tr("Proven: no schedule within the budget adds less time"), overhead, [this](int row) {
        const SweepPoint& point = at(row).figures;
        return point.bound ? Figure(point.bound->overhead) : Figure();
    });
}

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

}  // namespace rematlas::explorer
