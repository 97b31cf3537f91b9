#include "app/explorer/jobs/sweep_controller.h"

#include <algorithm>

#include "app/explorer/words/wording.h"
#include "core/base/files.h"
#include "core/planning/registry.h"

namespace rematlas::explorer {
namespace {

int count_curves(const std::vector<std::string>& solvers, const std::vector<Copies>& copies) {
    int curves = 0;
    for (const std::string& name : solvers)
        for (const Copies& one : copies) {
            const SolverEntry* solver = find_solver(name);
            curves += solver && is_within(one.what, solver->traits.copies);
        }
    return curves;
}

}  // namespace

SweepController::SweepController() {
    connect(&job_, &BackgroundJob::finished, this, &SweepController::finished);
}

void SweepController::start(GraphPtr graph, std::vector<std::string> solvers, int budgets,
                            std::chrono::milliseconds time, Pins pins, std::vector<Copies> copies) {
    sweep_ =
        Sweep{.graph = graph->graph.name, .graph_sha256 = graph->graph.sha256, .curves = {}, .pins = pins};
    done_ = 0;
    total_ = budgets * count_curves(solvers, copies);
    emit changed();
    job_.start([this, graph, solvers = std::move(solvers), budgets, time, pins = std::move(pins),
                copies = std::move(copies)](std::stop_token stop) {
        SweepOptions options{.solvers = solvers,
                             .budgets = {},
                             .count = budgets,
                             .limits = {.time = time, .stop = stop, .cache = cache_folder()},
                             .pins = pins,
                             .copies = copies};
        const auto on_point = [this, stop](const SweepCurve& curve, const SweepPoint& point) {
            job_.post(stop, [this, found = SweptPoint{curve.solver, curve.copies, point}] {
                insert(found);
                emit point_found(found);
                emit changed();
                emit progressed(++done_, total_);
            });
        };
        Result<Sweep> sweep = run_sweep(graph->graph, options, on_point);
        if (!sweep) {
            return BackgroundJob::Delivery(
                [this, message = text(sweep.error().message)] { emit failed(message); });
        }
        return BackgroundJob::Delivery([this, sweep = sweep.take()]() mutable {
            sweep_ = std::move(sweep);
            for (const SweepCurve& curve : sweep_.curves)
                for (const SweepPoint& point : curve.points)
                    emit point_found({curve.solver, curve.copies, point});
            emit changed();
        });
    });
    emit started();
}

void SweepController::insert(const SweptPoint& found) {
    const SweepPoint& point = found.point;
    auto curve = std::find_if(sweep_.curves.begin(), sweep_.curves.end(), [&](const SweepCurve& c) {
        return c.solver == found.solver && c.copies == found.copies;
    });
    if (curve == sweep_.curves.end()) {
        sweep_.curves.push_back({.solver = found.solver, .points = {}, .copies = found.copies});
        curve = std::prev(sweep_.curves.end());
    }
    auto at = std::lower_bound(curve->points.begin(), curve->points.end(), point.budget,
                               [](const SweepPoint& p, Bytes budget) { return p.budget < budget; });
    if (at != curve->points.end() && at->budget == point.budget) {
        *at = point;
    } else {
        curve->points.insert(at, point);
    }
}

void SweepController::set_sweep(Sweep sweep) {
    job_.cancel();
    sweep_ = std::move(sweep);
    emit changed();
}

void SweepController::raise_bounds(const Graph& graph, const KnownAnswers& known) {
    rematlas::raise_bounds(graph, known, sweep_);
    emit changed();
}

void SweepController::clear() {
    job_.cancel();
    sweep_ = {};
    emit changed();
}

Schedule schedule_of(const LoadedGraph& graph, const SweptPoint& found, Pins pins) {
    return rematlas::schedule_of({graph.graph, graph.flat, found.copies}, found.solver, found.point,
                                 std::move(pins));
}

}  // namespace rematlas::explorer
