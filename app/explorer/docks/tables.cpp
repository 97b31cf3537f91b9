#include "app/explorer/docks/tables.h"

#include <QCoreApplication>

#include "app/explorer/docks/flame_view.h"
#include "app/explorer/docks/lanes_view.h"
#include "app/explorer/docks/lifetimes_view.h"
#include "app/explorer/docks/sweep_plot.h"
#include "app/explorer/models/flame_table.h"
#include "app/explorer/models/items_table.h"
#include "app/explorer/models/lifetimes_table.h"
#include "app/explorer/models/steps_table.h"
#include "app/explorer/models/sweep_table.h"

namespace rematlas::explorer {
namespace {

/// Selects the op of the row, and moves the cursor to the row's step.
void go_to_step(Session& session, const StepsTable& steps, int row) {
    session.selection.select(steps.selected_at(row));
    session.selection.set_cursor(steps.step_of(row));
}

}  // namespace

PictureOrTable* with_steps_table(Session& session, QWidget* picture) {
    auto* steps = new StepsTable;
    auto* painted = qobject_cast<LanesView*>(picture);
    auto* both = new PictureOrTable(picture, painted ? painted : picture->findChild<LanesView*>(), steps,
                                    QCoreApplication::translate("Tables", "Schedule"));
    const auto refill = [&session, steps, both] {
        steps->set_schedule(session.schedule());
        both->follow(-1);
    };
    const auto follow = [&session, steps, both] {
        const int cursor = steps->row_of_step(session.selection.cursor());
        both->follow(cursor >= 0 ? cursor : steps->row_of(session.selection.current()));
    };
    QObject::connect(&session, &Session::schedule_changed, both, refill);
    QObject::connect(&session.selection, &Selection::range_changed, both,
                     [steps, follow](const StepRange& range) {
                         steps->set_range(range);
                         follow();
                     });
    QObject::connect(&session.selection, &Selection::cursor_moved, both, follow);
    QObject::connect(&session.selection, &Selection::changed, both, follow);
    QObject::connect(both, &PictureOrTable::chosen, both,
                     [&session, steps](int row) { go_to_step(session, *steps, row); });
    QObject::connect(both, &PictureOrTable::activated, both, [&session, steps](int row) {
        go_to_step(session, *steps, row);
        session.selection.reveal(session.selection.current());
    });
    refill();
    return both;
}

PictureOrTable* with_sweep_table(Session& session, QWidget* picture) {
    auto* points = new SweepTable;
    auto* plot = picture->findChild<SweepPlot*>();
    auto* both =
        new PictureOrTable(picture, plot, points, QCoreApplication::translate("Tables", "Trade-off"));
    const auto show = [&session, points](int row) {
        const auto curve = static_cast<std::size_t>(points->curve_at(row));
        const auto at = static_cast<std::size_t>(points->point_at(row));
        const SweepCurve& of = session.sweep.sweep().curves[curve];
        // The point is copied, because `show_point` may change the sweep that holds it.
        const SweptPoint found{of.solver, of.copies, of.points[at]};
        if (found.point.peak.value > 0) session.show_point(found);
    };
    QObject::connect(&session.sweep, &SweepController::changed, both,
                     [&session, points] { points->set_sweep(session.sweep.sweep()); });
    QObject::connect(both, &PictureOrTable::activated, both, show);
    QObject::connect(plot, &SweepPlot::walked, both, [points, both](int curve, int point) {
        for (int row = 0; row < points->rowCount(); ++row)
            if (points->curve_at(row) == curve && points->point_at(row) == point) both->follow(row);
    });
    points->set_sweep(session.sweep.sweep());
    return both;
}

PictureOrTable* with_flame_table(Session& session, QWidget* picture) {
    auto* boxes = new FlameTable;
    auto* view = picture->findChild<FlameView*>();
    auto* both =
        new PictureOrTable(picture, view, boxes, QCoreApplication::translate("Tables", "Flame chart"));
    const auto refill = [view, boxes, both] {
        boxes->set_chart(view->chart());
        both->follow(view->focused());
    };
    QObject::connect(view, &FlameView::chart_changed, both, refill);
    QObject::connect(view, &FlameView::focus_moved, both, &PictureOrTable::follow);
    QObject::connect(both, &PictureOrTable::chosen, view, &FlameView::choose);
    QObject::connect(both, &PictureOrTable::activated, view, [&session, view](int row) {
        view->choose(row);
        view->zoom_to(row);
        session.selection.reveal(session.selection.current());
    });
    refill();
    return both;
}

PictureOrTable* with_lifetimes_table(Session& session, QWidget* picture) {
    auto* tensors = new LifetimesTable;
    auto* view = qobject_cast<LifetimesView*>(picture);
    LifetimesPicture& bars = view->picture();
    auto* both =
        new PictureOrTable(picture, &bars, tensors, QCoreApplication::translate("Tables", "Lifetimes"));
    const auto refill = [&session, view, tensors, both] {
        tensors->set_bars(view->bars().step < 0 ? nullptr : session.schedule(), view->bars());
        both->follow(view->picture().current());
    };
    QObject::connect(view, &LifetimesView::bars_changed, both, refill);
    QObject::connect(&bars, &LifetimesPicture::current_moved, both, &PictureOrTable::follow);
    QObject::connect(both, &PictureOrTable::chosen, view, [&session, tensors, &bars](int row) {
        bars.set_current(row);
        if (const Selected maker = tensors->selected_at(row); !maker.empty()) session.selection.select(maker);
    });
    refill();
    return both;
}

PictureOrTable* with_items_table(Session& session, QWidget* picture, QWidget* graph) {
    auto* items = new ItemsTable;
    auto* both = new PictureOrTable(picture, graph, items, QCoreApplication::translate("Tables", "Graph"));
    const auto follow = [&session, items, both] { both->follow(items->row_of(session.selection.current())); };
    const auto refill = [&session, items, follow] {
        items->set_ladder(session.ladder.ladder());
        follow();
    };
    QObject::connect(&session.ladder, &LadderController::changed, both, refill);
    QObject::connect(&session.ladder, &LadderController::recoloured, both, refill);
    QObject::connect(&session, &Session::graph_changed, both, refill);
    QObject::connect(&session.selection, &Selection::changed, both, follow);
    QObject::connect(both, &PictureOrTable::chosen, both,
                     [&session, items](int row) { session.selection.select(items->selected_at(row)); });
    QObject::connect(both, &PictureOrTable::activated, both, [&session, items](int row) {
        const Selected at = items->selected_at(row);
        if (at.block.valid()) session.ladder.toggle(at.block);
    });
    refill();
    return both;
}

}  // namespace rematlas::explorer
