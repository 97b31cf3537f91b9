#include "app/explorer/session/sweep_controller.h"

#include <algorithm>

#include "app/explorer/session/wording.h"
#include "core/base/files.h"

namespace rematlas::explorer {

SweepController::SweepController(QObject* parent) : QObject(parent) {
    connect(&job_, &BackgroundJob::finished, this, &SweepController::finished);
}

void SweepController::start(GraphPtr graph, std::vector<std::string> solvers, int budgets,
                            std::chrono::milliseconds time, Pins pins) {
    sweep_ =
        Sweep{.graph = graph->graph.name, .graph_sha256 = graph->graph.sha256, .curves = {}, .pins = pins};
    done_ = 0;
    total_ = budgets * static_cast<int>(solvers.size());
    emit changed();
    job_.start([this, graph, solvers = std::move(solvers), budgets, time,
                pins = std::move(pins)](std::stop_token stop) {
        SweepOptions options{.solvers = solvers,
                             .budgets = {},
                             .count = budgets,
                             .limits = {.time = time, .stop = stop, .cache = cache_folder()},
                             .pins = pins};
        const auto on_point = [this, stop](const std::string& solver, const SweepPoint& point) {
            job_.post(stop, [this, solver, point] {
                insert(solver, point);
                emit point_found(solver, point);
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
                for (const SweepPoint& point : curve.points) emit point_found(curve.solver, point);
            emit changed();
        });
    });
    emit started();
}

void SweepController::insert(const std::string& solver, const SweepPoint& point) {
    auto curve = std::find_if(sweep_.curves.begin(), sweep_.curves.end(),
                              [&](const SweepCurve& c) { return c.solver == solver; });
    if (curve == sweep_.curves.end()) {
        sweep_.curves.push_back({.solver = solver, .points = {}});
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

void SweepController::clear() {
    job_.cancel();
    sweep_ = {};
    emit changed();
}

Schedule schedule_of(const LoadedGraph& graph, const std::string& solver, const SweepPoint& point,
                     Pins pins) {
    const auto time =
        static_cast<std::int64_t>(point.overhead * static_cast<double>(graph.flat.base_time) + 0.5);
    return {.graph = graph.graph.name,
            .graph_sha256 = graph.graph.sha256,
            .solver = solver,
            .config = nullptr,
            .budget = point.budget,
            .time = Nanoseconds(time),
            .overhead = point.overhead,
            .peak = point.peak,
            .bound = point.bound,
            .status = point.status,
            .solve_seconds = 0,
            .steps = point.steps,
            .homes = point.homes,
            .pins = std::move(pins)};
}

}  // namespace rematlas::explorer
